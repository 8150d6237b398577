#include "model/deepseek.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/host_access.h"

namespace octet {

DeepSeek::DeepSeek(const DeepSeekConfig& config, std::int64_t tokens, std::int64_t max_seq_len,
                   const ModelOptions& options)
    : Model(options.precision),
      config_(config),
      max_seq_len_(max_seq_len),
      embedding_slab_(parameters_.add_slab("tok_embeddings")),
      blocks_([&] {
        std::deque<DeepSeekBlock> blocks;
        for (std::int64_t i = 0; i < config.layers; ++i) {
          blocks.emplace_back(config_, fmt::format("layers.{}", i), i, config.is_dense(i), tokens, precision_, options,
                              parameters_);
        }
        return blocks;
      }()),
      modules_([&] {
        std::deque<PredictionModule> modules;
        for (std::int64_t i = 0; i < config.mtp_depth; ++i) {
          modules.emplace_back(config_, i, tokens, precision_, options, parameters_);
        }
        return modules;
      }()),
      ends_({.vocab = config.vocab,
             .dim = config.dim,
             .norm_eps = config.norm_eps,
             .init_std = config.init_std,
             .losses = 1 + config.mtp_depth},
            tokens, precision_, options, embedding_slab_, parameters_.add_slab("head")) {}

void DeepSeek::allocate(Memory& memory, const SlabStorage& storage) {
  precision_.require_effect();
  cos_sin_ = memory.allocate("rope_table", DType::f32, max_seq_len_, config_.rope_dim, MemoryClass::parameters);
  load_ = memory.allocate("expert_load", DType::u64, config_.layers + config_.mtp_depth + 1, config_.moe.rule.experts,
                          MemoryClass::workspace);
  other_losses_ = memory.allocate("other_losses", DType::f64, 1, 2, MemoryClass::workspace);
  ends_.allocate(memory, storage);
  for (DeepSeekBlock& block : blocks_) block.allocate(memory, storage);
  for (PredictionModule& module : modules_) module.allocate(memory, storage);
}

void DeepSeek::prepare(ops::Device& device) const {
  const std::vector<double> frequencies =
      config_.yarn ? ops::yarn_frequencies(config_.rope_dim, config_.rope_theta, *config_.yarn)
                   : ops::rope_frequencies(config_.rope_dim, config_.rope_theta, std::nullopt);
  const double magnitude = config_.yarn ? config_.yarn->rotated_magnitude() : 1;
  const std::vector<float> table = ops::rope_table(max_seq_len_, frequencies, magnitude);
  device.upload(cos_sin_.tensor().raw(), table.data(), cos_sin_.tensor().bytes());
}

void DeepSeek::measure_weights(ops::Executor& run) const {
  for (const DeepSeekBlock& block : blocks_) block.measure_weights(run);
  for (const PredictionModule& module : modules_) module.measure_weights(run);
  ends_.head().measure_weight(run);
}

void DeepSeek::cast_weights(ops::Executor& run) const {
  for (const DeepSeekBlock& block : blocks_) block.cast_weights(run);
  for (const PredictionModule& module : modules_) module.cast_weights(run);
  ends_.head().cast_weight(run);
}

void DeepSeek::watch_casts(CastCounts* counts) {
  for (Linear* linear : linears()) linear->watch(counts);
}

std::vector<Linear*> DeepSeek::linears() {
  std::vector<Linear*> linears;
  for (DeepSeekBlock& block : blocks_) {
    for (Linear* linear : block.linears()) linears.push_back(linear);
  }
  for (PredictionModule& module : modules_) {
    for (Linear* linear : module.linears()) linears.push_back(linear);
  }
  linears.push_back(&ends_.head());
  return linears;
}

std::string DeepSeek::shape_text() const {
  const MoeConfig& moe = config_.moe;
  const std::string heads =
      config_.has_latent_attention()
          ? fmt::format("{} heads", config_.heads)
          : fmt::format("{} normed heads of {} ({} key/value)", config_.heads, config_.rope_dim, config_.kv_heads);
  return fmt::format("{} layers ({} dense), dim {}, {}, {} experts of {} ({} chosen, {} shared), vocabulary {}",
                     config_.layers, config_.dense_layers, config_.dim, heads, moe.rule.experts, moe.ffn_dim,
                     moe.rule.top_k, moe.shared_experts, config_.vocab);
}

// ---- load of experts ------------------------------------------------------------------------------------------------

std::int64_t* DeepSeek::load_of(std::size_t row) const {
  // Counts below 2^63 have the same bits with and without a sign.
  return static_cast<std::int64_t*>(load_.tensor().row_range(static_cast<std::int64_t>(row), 1).raw());
}

void DeepSeek::balance(ops::Executor& run) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) blocks_[i].balance(run, load_of(i));
  for (std::size_t i = 0; i < depths(); ++i) modules_[i].balance(run, load_of(blocks_.size() + i));
}

std::vector<std::vector<std::int64_t>> DeepSeek::expert_loads(ops::Device& device) const {
  const ops::HostBytes bytes(device, load_.tensor());
  const auto experts = static_cast<std::size_t>(config_.moe.rule.experts);
  std::vector<std::vector<std::int64_t>> loads;
  for (std::size_t i = 0; i < blocks_.size() + depths(); ++i) {
    if (i < blocks_.size() ? blocks_[i].is_dense() : modules_[i - blocks_.size()].is_dense()) continue;
    const auto load = bytes.as<std::int64_t>().subspan(i * experts, experts);
    loads.emplace_back(load.begin(), load.end());
  }
  return loads;
}

OtherLosses DeepSeek::other_losses(ops::Device& device) const {
  const ops::HostBytes bytes(device, other_losses_.tensor());
  const auto depth = static_cast<double>(std::max<std::size_t>(depths(), 1));
  return {bytes.as<double>()[0], bytes.as<double>()[1] / depth};
}

// ---- passes ---------------------------------------------------------------------------------------------------------

/// Clears what is summed over the micro-batches of a step, also where the last one did not come to its update.
void DeepSeek::begin_step(ops::Executor& run) const {
  for (const Buffer* sums : {&load_, &other_losses_}) {
    run(ops::Zero{sums->tensor().raw(), static_cast<std::int64_t>(sums->tensor().bytes())});
  }
}

/// The tokens of a batch, and their targets, one further on. A document's end has neither: its last target is ignored,
/// and what stands for its last input is of no consequence to any other.
DeepSeek::Further DeepSeek::shift(ops::Executor& run, const Batch& batch) const {
  const std::int64_t tokens = batch.shape.tokens();
  const auto piece = [&](const char* what) {
    return run.memory().allocate(what, DType::i32, 1, tokens, MemoryClass::activations);
  };
  Further further{piece("further_inputs"), piece("further_targets"), {}, {}, {}};
  run(ops::ShiftTokens{batch.inputs, further.inputs.ptr<std::int32_t>(), tokens, batch.shape.seq_len, 0,
                       batch.shape.documents});
  run(ops::ShiftTokens{batch.targets, further.targets.ptr<std::int32_t>(), tokens, batch.shape.seq_len, -1,
                       batch.shape.documents});
  return further;
}

void DeepSeek::train(ops::Executor& run, const Batch& batch, float gradient_scale, bool accumulate, double* loss_sum) {
  const BackwardStep step{batch.shape, batch.token_weight, other_losses_.ptr<double>()};
  auto phase = run.phase("forward");
  if (!accumulate) begin_step(run);
  std::vector<DeepSeekBlock::Saved> saved(blocks_.size());
  Residual stream{ends_.embed(run, batch.inputs, batch.shape.tokens()), {}};
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    stream = blocks_[i].forward(run, batch.shape, cos_sin(), std::move(stream), load_of(i), &saved[i]);
  }
  VocabularyLayers::Final end = ends_.finish(run, std::move(stream));
  std::vector<Further> further = predict_further(run, batch, end.x.tensor());

  phase.next("head and loss");
  Buffer dnormed =
      ends_.loss_and_gradient(run, std::move(end.normed), batch.targets, gradient_scale, accumulate, loss_sum);
  further_losses(run, gradient_scale, further);

  phase.next("backward");
  const bool embeds_further = depths() > 0;  // the table's gradient then begins before the blocks' backward
  if (!accumulate && embeds_further) ends_.begin_embedding_gradients(run);
  Buffer dread = further_backward(run, step, end.x.tensor(), std::move(further), accumulate);
  ResidualGradient gradient =
      ends_.finish_backward(run, std::move(dnormed), std::move(end), std::move(dread), blocks_.back().last());
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    const Linear* below = i > 0 ? blocks_[i - 1].last() : nullptr;
    gradient = blocks_[i].backward(run, step, cos_sin(), std::move(gradient), std::move(saved[i]), below, accumulate);
  }
  if (!accumulate && !embeds_further) ends_.begin_embedding_gradients(run);
  ends_.embedding_backward(run, batch.inputs, gradient.values.tensor());
}

/// From the stream [T, D] that the blocks ended with, depth by depth.
std::vector<DeepSeek::Further> DeepSeek::predict_further(ops::Executor& run, const Batch& batch,
                                                         const Tensor& stream) const {
  std::vector<Further> further;
  Batch shifted = batch;
  Tensor read = stream;
  for (std::size_t i = 0; i < depths(); ++i) {
    Further& next = further.emplace_back(shift(run, shifted));
    shifted.inputs = next.inputs.ptr<std::int32_t>();
    shifted.targets = next.targets.ptr<std::int32_t>();
    Buffer embedded = ends_.embed(run, shifted.inputs, batch.shape.tokens());
    next.end = ends_.finish(run, modules_[i].forward(run, batch.shape, cos_sin(), read, std::move(embedded),
                                                     load_of(blocks_.size() + i), next.saved));
    read = next.end.x.tensor();
  }
  return further;
}

/// The head on each depth's stream. Gradients are those of the mean over the depths, with its weight.
void DeepSeek::further_losses(ops::Executor& run, float gradient_scale, std::vector<Further>& further) const {
  double* sum = other_losses_.ptr<double>() == nullptr ? nullptr : other_losses_.ptr<double>() + 1;
  for (Further& each : further) {
    const float scale = gradient_scale * config_.mtp_weight / static_cast<float>(depths());
    each.dnormed =
        ends_.loss_and_gradient(run, std::move(each.end.normed), each.targets.ptr<std::int32_t>(), scale, true, sum);
  }
}

/// The gradient of `stream` [T, D] from the first depth, which has read it; nothing where there is none.
Buffer DeepSeek::further_backward(ops::Executor& run, const BackwardStep& step, const Tensor& stream,
                                  std::vector<Further> further, bool accumulate) const {
  Buffer dread;  // of a stream, from the depth that has read it
  for (std::size_t i = depths(); i-- > 0;) {
    Further& each = further.back();
    const Tensor read = i > 0 ? further[i - 1].end.x.tensor() : stream;
    ResidualGradient gradient =
        ends_.finish_backward(run, std::move(each.dnormed), std::move(each.end), std::move(dread), modules_[i].last());
    PredictionModule::Gradients gradients =
        modules_[i].backward(run, step, cos_sin(), std::move(gradient), read, std::move(each.saved), accumulate);
    ends_.embedding_backward(run, each.inputs.ptr<std::int32_t>(), gradients.dembedded.tensor());
    dread = std::move(gradients.dstream);
    further.pop_back();
  }
  return dread;
}

void DeepSeek::validate(ops::Executor& run, const Batch& batch, double* loss_sum) const {
  Residual stream{ends_.embed(run, batch.inputs, batch.shape.tokens()), {}};
  for (const DeepSeekBlock& block : blocks_) {
    stream = block.forward(run, batch.shape, cos_sin(), std::move(stream), load_of(blocks_.size() + depths()), nullptr);
  }
  const VocabularyLayers::Final end = ends_.finish(run, std::move(stream));
  ends_.loss(run, end.normed.tensor(), batch.targets, loss_sum);
}

std::vector<KeyValueCache> DeepSeek::allocate_caches(Memory& memory, std::int64_t capacity) const {
  std::vector<KeyValueCache> caches;
  for (const DeepSeekBlock& block : blocks_) caches.push_back(block.allocate_cache(memory, capacity));
  return caches;
}

/// What further tokens are predicted with has no part in it.
void DeepSeek::decode(ops::Executor& run, const std::int32_t* tokens, std::int64_t count, std::int64_t position,
                      std::span<const KeyValueCache> caches, const Tensor& logits) const {
  Residual stream{ends_.embed(run, tokens, count), {}};
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    stream =
        blocks_[i].decode(run, position, cos_sin(), std::move(stream), load_of(blocks_.size() + depths()), caches[i]);
  }
  ends_.next_token_logits(run, std::move(stream), logits);
}

}  // namespace octet
