#include "model/vocabulary_layers.h"

#include <algorithm>

namespace octet {
namespace {

/// Rows of logits that `bytes` hold, in whole tiles of a matrix unit where they are many.
std::int64_t rows_of_logits(std::int64_t bytes, std::int64_t tokens, std::int64_t vocab) {
  constexpr std::int64_t kTile = 128;
  const std::int64_t rows = std::clamp<std::int64_t>(bytes / (vocab * 2), 1, tokens);
  return rows > kTile && rows < tokens ? rows / kTile * kTile : rows;
}

}  // namespace

VocabularyLayers::VocabularyLayers(const VocabularyConfig& config, std::int64_t tokens, PrecisionPlan& precision,
                                   const ModelOptions& options, Slab& embedding, Slab& head)
    : config_(config),
      logits_bytes_(options.logits_bytes),
      embedding_slab_(embedding),
      head_slab_(head),
      head_("output", config.vocab, config.dim,
            precision.decide_head("output", chunk_rows(tokens), config.vocab, config.dim), options.weight_codes,
            options.saving.inputs) {
  using enum GradientWrites;
  const bool fp8_head = head_.precision().is_fp8();
  const bool tied = config.tied;  // the head then writes the table's gradient before the embedding adds
  const GradientWrites table = tied ? in_parts : config.losses > 1 ? added : rows_once;
  const Initial initial{config.init_std, 0};
  embedding_slab_.add({"tok_embeddings.weight", config.vocab, config.dim, 0, initial, table, tied && fp8_head, {}});
  if (!tied) {
    const bool one_chunk = chunk_rows(tokens) == tokens && config.losses == 1;
    head_slab_.add({"output.weight", config.vocab, config.dim, 0, initial, one_chunk ? once : in_parts, fp8_head, {}});
  }
  head_slab_.add({"norm.weight", 1, config.dim, 0, {0, 1}, added, false, {}});
}

void VocabularyLayers::allocate(Memory& memory, const SlabStorage& storage) {
  embedding_slab_.allocate(memory, storage);
  embedding_ = embedding_slab_.view(0);
  head_slab_.allocate(memory, storage);
  head_.bind(config_.tied ? embedding_ : head_slab_.view(0));
  head_.allocate(memory);
  gain_ = head_slab_.view(gain_place()).weight;
}

Buffer VocabularyLayers::embed(ops::Executor& run, const std::int32_t* tokens, std::int64_t count) const {
  Buffer x = run.memory().allocate("embedded", DType::bf16, count, config_.dim, MemoryClass::activations);
  run(ops::EmbeddingForward{tokens, embedding_.weight.ptr<bf16>(), x.ptr<bf16>(), count, config_.dim, config_.vocab});
  run.observe("tok_embeddings.output", x.tensor());
  return x;
}

VocabularyLayers::Final VocabularyLayers::finish(ops::Executor& run, Residual stream) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = stream.x.tensor().rows();
  const std::int64_t dim = config_.dim;
  Final end{memory.allocate("final_x", DType::bf16, tokens, dim, MemoryClass::activations),
            memory.allocate("final_rstd", DType::f32, 1, tokens, MemoryClass::activations),
            memory.allocate("final_normed", DType::bf16, tokens, dim, MemoryClass::activations)};
  run(ops::RmsNormForward{stream.x.ptr<bf16>(), stream.delta.ptr<bf16>(), gain_.ptr<bf16>(), end.x.ptr<bf16>(),
                          end.normed.ptr<bf16>(), end.rstd.ptr<float>(), ops::RowCodes{}, ops::ColumnMaxima{}, tokens,
                          dim, config_.norm_eps, true});
  run.observe("norm.output", end.normed.tensor());
  return end;
}

void VocabularyLayers::next_token_logits(ops::Executor& run, Residual stream, const Tensor& logits) const {
  const Final end = finish(run, std::move(stream));
  const Tensor& normed = end.normed.tensor();
  LinearOperand in{.values = Buffer(nullptr, 0, normed.row_range(normed.rows() - 1, 1))};
  head_.cast_input(run, InputUse::inference, in);
  head_.forward(run, in, logits, InputUse::inference);
}

// ---- head and loss --------------------------------------------------------------------------------------------------

std::int64_t VocabularyLayers::chunk_rows(std::int64_t tokens) const {
  return rows_of_logits(logits_bytes_, tokens, config_.vocab);
}

void VocabularyLayers::for_each_chunk(std::int64_t tokens,
                                      const std::function<void(std::int64_t begin, std::int64_t count)>& body) const {
  const std::int64_t rows = chunk_rows(tokens);
  for (std::int64_t begin = 0; begin < tokens; begin += rows) body(begin, std::min(rows, tokens - begin));
}

/// Head and loss of some rows; with `dnormed` also their gradients.
void VocabularyLayers::loss_chunk(ops::Executor& run, const Tensor& normed, const std::int32_t* targets,
                                  float gradient_scale, bool accumulate, const Tensor* dnormed,
                                  double* loss_sum) const {
  Memory& memory = run.memory();
  const std::int64_t rows = normed.rows();
  Buffer logits = memory.allocate("logits", DType::bf16, rows, config_.vocab, MemoryClass::activations);
  const InputUse use = dnormed != nullptr ? InputUse::saved : InputUse::inference;
  LinearOperand in{.values = Buffer(nullptr, 0, normed)};
  head_.cast_input(run, use, in);
  head_.forward(run, in, logits.tensor(), use);
  Buffer loss = memory.allocate("loss", DType::f32, 1, rows, MemoryClass::activations);
  run(ops::CrossEntropy{logits.ptr<bf16>(), targets, loss.ptr<float>(), rows, config_.vocab, gradient_scale,
                        dnormed != nullptr});
  run(ops::SumFloats{loss.ptr<float>(), loss_sum, rows, 1.0});
  run.observe("loss", loss.tensor());
  if (dnormed == nullptr) return;
  run.observe("output.logit_gradient", logits.tensor());
  LinearOperand dlogits{.values = std::move(logits)};
  head_.cast_gradient(run, dlogits);
  head_.backward(run, in, dlogits, *dnormed, head_gradient(), accumulate);
}

Tensor VocabularyLayers::head_gradient() const {
  return config_.tied ? embedding_slab_.gradient(0) : head_slab_.gradient(0);
}

Buffer VocabularyLayers::loss_and_gradient(ops::Executor& run, Buffer normed, const std::int32_t* targets,
                                           float gradient_scale, bool accumulate, double* loss_sum) const {
  const std::int64_t tokens = normed.tensor().rows();
  Buffer dnormed = run.memory().allocate("dnormed", DType::bf16, tokens, config_.dim, MemoryClass::activations);
  if (!accumulate) {
    head_slab_.begin_gradients(run);
    if (config_.tied) embedding_slab_.begin_gradients(run);
  }
  for_each_chunk(tokens, [&](std::int64_t begin, std::int64_t count) {
    const Tensor chunk = dnormed.tensor().row_range(begin, count);
    loss_chunk(run, normed.tensor().row_range(begin, count), targets == nullptr ? nullptr : targets + begin,
               gradient_scale, accumulate || begin > 0, &chunk, loss_sum);
  });
  return dnormed;
}

void VocabularyLayers::loss(ops::Executor& run, const Tensor& normed, const std::int32_t* targets,
                            double* loss_sum) const {
  for_each_chunk(normed.rows(), [&](std::int64_t begin, std::int64_t count) {
    loss_chunk(run, normed.row_range(begin, count), targets == nullptr ? nullptr : targets + begin, 0.0F, false,
               nullptr, loss_sum);
  });
}

// ---- backward -------------------------------------------------------------------------------------------------------

ResidualGradient VocabularyLayers::finish_backward(ops::Executor& run, Buffer dnormed, Final end, Buffer other,
                                                   const Linear* below) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = dnormed.tensor().rows();
  const std::int64_t dim = config_.dim;
  ResidualGradient gradient{.values = memory.allocate("final_dx", DType::bf16, tokens, dim, MemoryClass::activations)};
  if (below != nullptr) below->expect_gradient(memory, tokens, gradient);
  run(ops::RmsNormBackward{dnormed.ptr<bf16>(), end.x.ptr<bf16>(), gain_.ptr<bf16>(), end.rstd.ptr<float>(),
                           other ? other.ptr<bf16>() : nullptr, gradient.values.ptr<bf16>(),
                           head_slab_.gradient(gain_place()).ptr<float>(),
                           below != nullptr ? below->gradient_rows(gradient) : ops::RowCodes{},
                           Linear::columns(gradient), tokens, dim, static_cast<bool>(other)});
  run.observe("norm.input_gradient", gradient.values.tensor());
  return gradient;
}

void VocabularyLayers::begin_embedding_gradients(ops::Executor& run) const {
  if (!config_.tied) embedding_slab_.begin_gradients(run);
}

void VocabularyLayers::embedding_backward(ops::Executor& run, const std::int32_t* tokens,
                                          const Tensor& gradient) const {
  const Tensor table = embedding_slab_.gradient(0);
  run(ops::EmbeddingBackward{tokens, gradient.ptr<bf16>(), table.raw(), gradient.rows(), config_.dim, config_.vocab,
                             table.dtype()});
  run.observe("tok_embeddings.weight_gradient", table);
}

}  // namespace octet
