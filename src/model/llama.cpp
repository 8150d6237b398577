#include "model/llama.h"

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

Llama::Llama(const LlamaConfig& config, std::int64_t tokens, std::int64_t max_seq_len, const LlamaOptions& options)
    : config_(config),
      precision_(options.precision),
      max_seq_len_(max_seq_len),
      logits_bytes_(options.logits_bytes),
      embedding_slab_(parameters_.add_slab("tok_embeddings")),
      blocks_([&] {
        std::deque<LlamaBlock> blocks;
        for (std::int64_t i = 0; i < config.layers; ++i) {
          Slab& slab = parameters_.add_slab("layers." + std::to_string(i));
          blocks.emplace_back(config_, i, tokens, precision_, options.weight_codes, options.saving, slab);
        }
        return blocks;
      }()),
      head_slab_(parameters_.add_slab("head")),
      head_("output", config.vocab, config.dim,
            precision_.decide_head("output", chunk_rows(tokens), config.vocab, config.dim), options.weight_codes,
            options.saving.inputs) {
  using enum GradientWrites;
  const bool fp8_head = head_.precision().is_fp8();
  const bool tied = config.tied_embeddings;  // the head then writes the table's gradient before the embedding adds
  const GradientWrites table = tied ? in_parts : rows_once;
  const Initial initial{config.init_std, 0};
  embedding_slab_.add({"tok_embeddings.weight", config.vocab, config.dim, 0, initial, table, tied && fp8_head, {}});
  if (!tied) {
    const bool one_chunk = chunk_rows(tokens) == tokens;
    head_slab_.add({"output.weight", config.vocab, config.dim, 0, initial, one_chunk ? once : in_parts, fp8_head, {}});
  }
  head_slab_.add({"norm.weight", 1, config.dim, 0, {0, 1}, added, false, {}});
}

void Llama::allocate(Memory& memory, const SlabStorage& storage) {
  precision_.require_effect();
  cos_sin_ = memory.allocate("rope_table", DType::f32, max_seq_len_, config_.head_dim(), MemoryClass::parameters);
  embedding_slab_.allocate(memory, storage);
  embedding_ = embedding_slab_.view(0);
  for (LlamaBlock& block : blocks_) block.allocate(memory, storage);
  head_slab_.allocate(memory, storage);
  head_.bind(config_.tied_embeddings ? embedding_ : head_slab_.view(0));
  head_.allocate(memory);
  final_gain_ = head_slab_.view(gain_place()).weight;
}

void Llama::prepare(ops::Device& device) const {
  const std::vector<float> table =
      ops::rope_table(max_seq_len_, config_.head_dim(), config_.rope_theta, config_.rope_scaling);
  device.upload(cos_sin_.tensor().raw(), table.data(), cos_sin_.tensor().bytes());
}

void Llama::measure_weights(ops::Executor& run) const {
  for (const LlamaBlock& block : blocks_) block.measure_weights(run);
  head_.measure_weight(run);
}

void Llama::cast_weights(ops::Executor& run) const {
  for (const LlamaBlock& block : blocks_) block.cast_weights(run);
  head_.cast_weight(run);
}

void Llama::watch_casts(CastCounts* counts) {
  for (LlamaBlock& block : blocks_) block.watch_casts(counts);
  head_.watch(counts);
}

std::vector<Linear*> Llama::linears() {
  std::vector<Linear*> linears;
  for (LlamaBlock& block : blocks_) {
    for (Linear* linear : block.linears()) linears.push_back(linear);
  }
  linears.push_back(&head_);
  return linears;
}

std::int64_t Llama::chunk_rows(std::int64_t tokens) const {
  return rows_of_logits(logits_bytes_, tokens, config_.vocab);
}

Residual Llama::embed(ops::Executor& run, const Batch& batch) const {
  const std::int64_t tokens = batch.shape.tokens();
  Buffer x = run.memory().allocate("embedded", DType::bf16, tokens, config_.dim, MemoryClass::activations);
  run(ops::EmbeddingForward{batch.inputs, embedding_.weight.ptr<bf16>(), x.ptr<bf16>(), tokens, config_.dim,
                            config_.vocab});
  run.observe("tok_embeddings.output", x.tensor());
  return {std::move(x), {}};
}

Llama::Final Llama::finish(ops::Executor& run, Residual stream, std::int64_t tokens) const {
  Memory& memory = run.memory();
  const std::int64_t dim = config_.dim;
  Final end{memory.allocate("final_x", DType::bf16, tokens, dim, MemoryClass::activations),
            memory.allocate("final_rstd", DType::f32, 1, tokens, MemoryClass::activations),
            memory.allocate("final_normed", DType::bf16, tokens, dim, MemoryClass::activations)};
  run(ops::RmsNormForward{stream.x.ptr<bf16>(), stream.delta.ptr<bf16>(), final_gain_.ptr<bf16>(), end.x.ptr<bf16>(),
                          end.normed.ptr<bf16>(), end.rstd.ptr<float>(), ops::RowCodes{}, ops::ColumnMaxima{}, tokens,
                          dim, config_.norm_eps, true});
  run.observe("norm.output", end.normed.tensor());
  return end;
}

void Llama::for_each_chunk(std::int64_t tokens,
                           const std::function<void(std::int64_t begin, std::int64_t count)>& body) const {
  const std::int64_t rows = chunk_rows(tokens);
  for (std::int64_t begin = 0; begin < tokens; begin += rows) body(begin, std::min(rows, tokens - begin));
}

/// Head and loss of rows [begin, begin + normed.rows()); with `dnormed` also their gradients.
void Llama::loss_chunk(ops::Executor& run, const Tensor& normed, const Batch& batch, std::int64_t begin,
                       float gradient_scale, bool accumulate, const Tensor* dnormed, double* loss_sum) const {
  Memory& memory = run.memory();
  const std::int64_t rows = normed.rows();
  Buffer logits = memory.allocate("logits", DType::bf16, rows, config_.vocab, MemoryClass::activations);
  const InputUse use = dnormed != nullptr ? InputUse::saved : InputUse::inference;
  LinearOperand in{.values = Buffer(nullptr, 0, normed)};
  head_.cast_input(run, use, in);
  head_.forward(run, in, logits.tensor(), use);
  Buffer loss = memory.allocate("loss", DType::f32, 1, rows, MemoryClass::activations);
  const std::int32_t* targets = batch.targets == nullptr ? nullptr : batch.targets + begin;
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

Tensor Llama::head_gradient() const {
  return config_.tied_embeddings ? embedding_slab_.gradient(0) : head_slab_.gradient(0);
}

void Llama::train(ops::Executor& run, const Batch& batch, float gradient_scale, bool accumulate, double* loss_sum) {
  Memory& memory = run.memory();
  const std::int64_t tokens = batch.shape.tokens();
  const std::int64_t dim = config_.dim;

  auto phase = run.phase("forward");
  std::vector<LlamaBlock::Saved> saved(blocks_.size());
  Residual stream = embed(run, batch);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    stream = blocks_[i].forward(run, batch.shape, cos_sin(), std::move(stream), &saved[i]);
  }
  Final end = finish(run, std::move(stream), tokens);

  phase.next("head and loss");
  Buffer dnormed = memory.allocate("dnormed", DType::bf16, tokens, dim, MemoryClass::activations);
  if (!accumulate) {
    head_slab_.begin_gradients(run);
    if (config_.tied_embeddings) embedding_slab_.begin_gradients(run);
  }
  for_each_chunk(tokens, [&](std::int64_t begin, std::int64_t count) {
    const Tensor chunk = dnormed.tensor().row_range(begin, count);
    loss_chunk(run, end.normed.tensor().row_range(begin, count), batch, begin, gradient_scale, accumulate || begin > 0,
               &chunk, loss_sum);
  });
  end.normed.reset();

  phase.next("backward");
  const Linear& last = blocks_.back().w2();
  ResidualGradient gradient{.values = memory.allocate("final_dx", DType::bf16, tokens, dim, MemoryClass::activations)};
  last.expect_gradient(memory, tokens, gradient);
  run(ops::RmsNormBackward{dnormed.ptr<bf16>(), end.x.ptr<bf16>(), final_gain_.ptr<bf16>(), end.rstd.ptr<float>(),
                           nullptr, gradient.values.ptr<bf16>(), head_slab_.gradient(gain_place()).ptr<float>(),
                           last.gradient_rows(gradient), Linear::columns(gradient), tokens, dim, false});
  run.observe("norm.input_gradient", gradient.values.tensor());
  dnormed.reset();
  end = {};

  for (std::size_t i = blocks_.size(); i-- > 0;) {
    const Linear* below = i > 0 ? &blocks_[i - 1].w2() : nullptr;
    gradient =
        blocks_[i].backward(run, batch.shape, cos_sin(), std::move(gradient), std::move(saved[i]), below, accumulate);
  }
  if (!accumulate && !config_.tied_embeddings) embedding_slab_.begin_gradients(run);
  const Tensor table_gradient = embedding_slab_.gradient(0);
  run(ops::EmbeddingBackward{batch.inputs, gradient.values.ptr<bf16>(), table_gradient.raw(), tokens, dim,
                             config_.vocab, table_gradient.dtype()});
  run.observe("tok_embeddings.weight_gradient", table_gradient);
}

void Llama::validate(ops::Executor& run, const Batch& batch, double* loss_sum) const {
  const std::int64_t tokens = batch.shape.tokens();
  Residual stream = embed(run, batch);
  for (const LlamaBlock& block : blocks_) {
    stream = block.forward(run, batch.shape, cos_sin(), std::move(stream), nullptr);
  }
  const Final end = finish(run, std::move(stream), tokens);
  for_each_chunk(tokens, [&](std::int64_t begin, std::int64_t count) {
    loss_chunk(run, end.normed.tensor().row_range(begin, count), batch, begin, 0.0F, false, nullptr, loss_sum);
  });
}

void Llama::decode(ops::Executor& run, const std::int32_t* token, std::int64_t position,
                   std::span<const KeyValueCache> caches, const Tensor& logits) const {
  Residual stream = embed(run, {{1, 1}, token, nullptr});
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    stream = blocks_[i].decode(run, position, cos_sin(), std::move(stream), caches[i]);
  }
  const Final end = finish(run, std::move(stream), 1);
  LinearOperand in{.values = Buffer(nullptr, 0, end.normed.tensor())};
  head_.cast_input(run, InputUse::inference, in);
  head_.forward(run, in, logits, InputUse::inference);
}

}  // namespace octet
