#include "model/decoder_run.h"

namespace octet::test {
namespace {

using ops::reference::Vector;

/// Two or three experts in two groups of four, as half of the groups are kept.
const Biases kOneChoice{{"layers.0", {3, 1.5, 0, 0, 3, 0, 0, 0}}, {"layers.1", {1.5, 3, 0, 0, 0, 0, 3, 0}}};

std::string prefill_program(std::size_t tokens) {
  return fmt::format("prefill {}", tokens);
}

Vector widen(std::span<const bf16> logits) {
  Vector values;
  for (const bf16 value : logits) values.push_back(to_float(value));
  return values;
}

}  // namespace

SmallModel make_small(const LlamaConfig& config, const BatchShape& shape, ModelOptions options) {
  return {std::make_unique<Llama>(config, shape.tokens(), shape.seq_len, options), random_weights(config), {}};
}

SmallModel make_small(const DeepSeekConfig& config, const BatchShape& shape, ModelOptions options) {
  return {make_deepseek(config, shape, std::move(options)), random_weights(config),
          config.moe.bias_rate > 0 ? kOneChoice : Biases{}};
}

DecoderRun::DecoderRun(SmallModel small, std::int64_t capacity, const ops::Backend& backend,
                       const std::vector<std::int64_t>& prompt_lengths)
    : model_(std::move(small.model)), decoder_(*model_, capacity) {
  make_plan(backend, prompt_lengths);
  memory_ = std::make_unique<Memory>(planning_.finish(), backend.device().allocator());
  model_->allocate(*memory_, {.training = false});
  decoder_.allocate(*memory_);
  model_->prepare(backend.device());
  write_weights(backend.device(), *model_, small.weights);
  write_biases(backend.device(), *model_, small.biases);
  run_ = std::make_unique<ops::Executor>(backend, *memory_);
  const ProgramScope program(*memory_, "cast_weights");
  model_->measure_weights(*run_);
  model_->cast_weights(*run_);
}

void DecoderRun::make_plan(const ops::Backend& backend, const std::vector<std::int64_t>& prompt_lengths) {
  model_->allocate(planning_, {.training = false});
  decoder_.allocate(planning_);  // its dry run must not count as a position
  ops::Executor plan(backend, planning_);
  for (const std::int64_t length : prompt_lengths) {
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(length));
    const ProgramScope program(planning_, prefill_program(tokens.size()));
    (void)decoder_.prefill(plan, tokens);
  }
  {
    const std::vector<std::int32_t> token(1);
    const ProgramScope program(planning_, "decode");
    (void)decoder_.prefill(plan, token);
  }
  const ProgramScope program(planning_, "cast_weights");
  model_->measure_weights(plan);
  model_->cast_weights(plan);
}

Vector DecoderRun::step(std::int32_t token) {
  const ProgramScope program(*memory_, "decode");
  return widen(decoder_.step(*run_, token));
}

Vector DecoderRun::prefill(std::span<const std::int32_t> tokens) {
  const ProgramScope program(*memory_, prefill_program(tokens.size()));
  return widen(decoder_.prefill(*run_, tokens));
}

}  // namespace octet::test
