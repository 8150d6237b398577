#include "reference_runs/debug_run.h"

#include <algorithm>
#include <cmath>

#include "train/model_setup.h"
#include "train/schedule.h"

namespace octet::test {
namespace {

/// Sixteen letters in an order that whole-number arithmetic alone decides; the script has the same line.
std::int32_t token_at(std::int64_t i) {
  return static_cast<std::int32_t>(97 + (i * i + i / 5) % 16);
}

/// Windows of the stream one after the other; `step` counts from 1.
void fill_batch(Engine& engine, std::int64_t step, std::int64_t seq_len) {
  const std::int64_t begin = (step - 1) * engine.tokens_per_step();
  for (std::int64_t i = 0; i < engine.tokens_per_step(); ++i) {
    const std::int64_t row = i / seq_len;
    engine.inputs()[static_cast<std::size_t>(i)] = token_at(begin + row * seq_len + i % seq_len);
    engine.targets()[static_cast<std::size_t>(i)] = token_at(begin + row * seq_len + i % seq_len + 1);
  }
}

}  // namespace

DebugRun run_llama3_debug(const std::vector<std::string>& overrides) {
  const Config config = load_config("configs/llama3_debug.toml", overrides).config;
  auto backend = make_backend(config);
  auto model = make_model(config, *backend);
  Engine engine(config, std::move(backend), std::move(model));
  engine.allocate();
  engine.model().parameters().initialize(engine.backend().device(), static_cast<std::uint64_t>(config.training.seed));
  engine.weights_changed();
  DebugRun run;
  for (std::int64_t step = 1; step <= config.training.steps; ++step) {
    fill_batch(engine, step, config.training.seq_len);
    run.steps.push_back(engine.compute_gradients());
    engine.update(step, learning_rate(config, step), run.steps.back().grad_norm);
  }
  run.fp8_codes_used = engine.executor().fp8_codes_used();
  return run;
}

double largest_relative_difference(const std::vector<StepOutcome>& steps, const std::vector<double>& expected_losses) {
  check(steps.size() == expected_losses.size(), "two runs of equal length are compared");
  double largest = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    largest = std::max(largest, std::abs(steps[i].loss - expected_losses[i]) / expected_losses[i]);
  }
  return largest;
}

}  // namespace octet::test
