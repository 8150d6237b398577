#include "train/generator.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "data/byte_tokenizer.h"
#include "train/checkpoint.h"
#include "train/device_fault.h"
#include "train/model_setup.h"

namespace octet {
namespace {

constexpr std::string_view kProgram = "decode";

/// Draws from softmax(logits / temperature) over the top_k likeliest tokens.
std::int32_t sample(std::span<const bf16> logits, const SamplingOptions& options, std::uint64_t position) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](std::int32_t token) { return to_float(logits[static_cast<std::size_t>(token)]); };
  const auto kept = options.top_k > 0 ? std::min(order.size(), static_cast<std::size_t>(options.top_k)) : order.size();
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [&](std::int32_t a, std::int32_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
  order.resize(options.temperature > 0 ? kept : 1);
  std::vector<double> cumulative;
  double total = 0;
  for (const std::int32_t token : order) {
    total += options.temperature > 0 ? std::exp((value(token) - value(order.front())) / options.temperature) : 1.0;
    cumulative.push_back(total);
  }
  const double draw = uniform(philox(options.seed, position, stream_of("sampling"))[0]) * total;
  const auto chosen = std::upper_bound(cumulative.begin(), cumulative.end(), draw) - cumulative.begin();
  return order[static_cast<std::size_t>(std::min<std::ptrdiff_t>(chosen, std::ssize(order) - 1))];
}

}  // namespace

Generator::Generator(const std::filesystem::path& run_directory)
    : config_(load_config(run_directory / "config.toml").config), backend_(make_backend(config_)) {
  const auto checkpoints = list_checkpoints(run_directory / "checkpoints");
  if (checkpoints.empty()) throw UserError("{} holds no checkpoint to generate from", run_directory.string());
  checkpoint_ = checkpoints.back();
}

void Generator::prepare(std::int64_t capacity) {
  model_ = make_llama(config_, *backend_);
  decoder_ = std::make_unique<LlamaDecoder>(*model_, capacity);
  Memory planner;
  const SlabStorage storage = slab_storage(config_, false);
  model_->allocate(planner, storage);
  decoder_->allocate(planner);
  ops::Executor plan(*backend_, planner);
  {
    const ProgramScope program(planner, kProgram);
    (void)decoder_->step(plan, 0);
  }
  {
    const ProgramScope program(planner, "cast_weights");
    model_->measure_weights(plan);
    model_->cast_weights(plan);
  }
  memory_ = std::make_unique<Memory>(planner.finish(), backend_->device().allocator());
  model_->allocate(*memory_, storage);
  decoder_->allocate(*memory_);
  model_->prepare(backend_->device());
  (void)load_checkpoint(checkpoint_, backend_->device(), model_->parameters(), config_, LoadOptimizer::no);
  model_->parameters().round_weights(backend_->device());
  ops::Executor run(*backend_, *memory_);
  const ProgramScope program(*memory_, "cast_weights");
  model_->measure_weights(run);
  model_->cast_weights(run);
}

std::string Generator::generate(std::string_view prompt, const SamplingOptions& options,
                                const std::function<void(std::string_view)>& on_text) {
  const ByteTokenizer tokenizer;
  std::vector<std::int32_t> tokens;
  tokenizer.encode(prompt, tokens);
  if (tokens.empty()) throw UserError("--prompt is empty: give the text to continue");
  const std::int64_t total = std::ssize(tokens) + options.tokens;
  prepare(std::min(total, config_.training.seq_len));
  on_text(prompt);
  ops::Executor run(*backend_, *memory_);
  if (config_.runtime.synchronous) run.wait_for_each_op();
  try {
    return std::string(prompt) + continue_text(run, std::move(tokens), options, on_text);
  } catch (const DeviceFault& fault) {
    throw Failure("{}", describe_fault(fault, run));
  }
}

std::string Generator::continue_text(ops::Executor& run, std::vector<std::int32_t> tokens,
                                     const SamplingOptions& options,
                                     const std::function<void(std::string_view)>& on_text) {
  const ByteTokenizer tokenizer;
  const std::int64_t total = std::ssize(tokens) + options.tokens;
  std::string text;
  for (std::int64_t position = 0; position + 1 < total; ++position) {
    if (decoder_->length() == decoder_->capacity()) {
      decoder_->restart();
      position -= decoder_->capacity() / 2;
    }
    const ProgramScope program(*memory_, kProgram);
    const auto logits = decoder_->step(run, tokens[static_cast<std::size_t>(position)]);
    if (position + 1 < std::ssize(tokens)) continue;  // still reading
    tokens.push_back(sample(logits, options, static_cast<std::uint64_t>(position)));
    const std::string piece = tokenizer.decode(std::span(tokens).last(1));
    on_text(piece);
    text += piece;
  }
  return text;
}

}  // namespace octet
