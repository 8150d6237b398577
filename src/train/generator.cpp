#include "train/generator.h"

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "data/open_tokenizer.h"
#include "train/device_fault.h"
#include "train/model_setup.h"
#include "train/text_stream.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDecode = "decode";
/// Models fill their vocabulary up to a round number, never by as many as this.
constexpr std::uint64_t kMostPadding = 1024;

/// Each number of tokens has sizes of its own, hence a program of its own.
std::string prefill_program(std::int64_t tokens) {
  return fmt::format("prefill {}", tokens);
}

Config inference_config(const fs::path& path, const GeneratorOptions& options) {
  Config config = load_config(path).config;
  if (!options.device.empty()) config.runtime.device = options.device;
  Config::Precision& precision = config.precision;
  precision.shadow = Config::Shadow::none;
  if (options.weights == WeightsIn::bf16) {
    precision.recipe = Config::Recipe::bf16;
    precision.head = Config::HeadPrecision::bf16;
  } else if (options.weights == WeightsIn::fp8 && precision.recipe == Config::Recipe::bf16) {
    precision.recipe = Config::Recipe::rowwise;
  }
  return config;
}

/// The tokenizer that belongs to a model: the user's choice, or the file beside its configuration, or bytes.
std::string tokenizer_name(const std::string& chosen, const ModelDirectory& model, const Config& config) {
  if (!chosen.empty()) return chosen;
  if (!config.data.tokenizer.empty()) return config.data.tokenizer;
  const fs::path beside = model.config.parent_path() / "tokenizer.json";
  std::error_code unreadable;
  if (fs::exists(beside, unreadable)) return beside.string();
  if (config.model.vocab_size == 256) return "bytes";
  throw UserError("{} does not say which tokenizer its {} tokens are of: name it with --tokenizer",
                  model.config.parent_path().string(), config.model.vocab_size);
}

void check_vocabulary(const Tokenizer& tokenizer, const Config& config) {
  const auto model = static_cast<std::uint64_t>(config.model.vocab_size);
  const std::uint64_t known = tokenizer.vocab_size();
  if (known <= model && model - known < kMostPadding) return;
  throw UserError("tokenizer {} has {} tokens and the model {}: they do not belong together", tokenizer.name(), known,
                  model);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Generator::Generator(const fs::path& model, const GeneratorOptions& options)
    : source_(find_model(model)),
      config_(inference_config(source_.config, options)),
      tokenizer_(open_tokenizer(tokenizer_name(options.tokenizer, source_, config_))),
      backend_(make_backend(config_)) {
  check_vocabulary(*tokenizer_, config_);
  if (!options.begin_token.empty()) begin_.push_back(special_token(options.begin_token));
  if (const auto end = tokenizer_->end_of_document()) ends_.insert(*end);
  for (const std::string& name : options.end_tokens) ends_.insert(special_token(name));
}

std::int32_t Generator::special_token(const std::string& name) const {
  const auto token = tokenizer_->special_token(name);
  if (!token) throw UserError("tokenizer {} has no special token \"{}\"", tokenizer_->name(), name);
  return *token;
}

// ---- memory and weights ---------------------------------------------------------------------------------------------

void Generator::take_persistent(Memory& memory) {
  // Weights alone: what was trained in fp32 is rounded on its way from the file.
  model_->allocate(memory, {.master = false, .training = false});
  decoder_->allocate(memory);
}

void Generator::cast_weights(ops::Executor& run) {
  const ProgramScope program(run.memory(), "cast_weights");
  model_->measure_weights(run);
  model_->cast_weights(run);
}

const MemoryPlan& Generator::plan(const std::vector<std::string>& prompts, std::int64_t max_tokens) {
  const std::int64_t context = config_.training.seq_len;
  std::set<std::int64_t> lengths;
  prompts_.clear();
  for (const std::string& prompt : prompts) {
    if (prompt.empty()) throw UserError("the prompt is empty: give the text to continue");
    std::vector<std::int32_t>& tokens = prompts_.emplace_back(begin_);
    tokenizer_->encode(prompt, tokens);
    if (std::ssize(tokens) > context) {
      throw UserError("the prompt has {} tokens, more than the {} that the model sees (training.seq_len): shorten it",
                      tokens.size(), context);
    }
    lengths.insert(std::ssize(tokens));
  }
  const std::int64_t longest = *lengths.rbegin() + max_tokens;
  model_ = make_inference_model(config_, *backend_);
  decoder_ = std::make_unique<Decoder>(*model_, std::min(longest, context));
  if (longest > context) lengths.insert(tokens_read_again());

  Memory planner;
  take_persistent(planner);
  ops::Executor run(*backend_, planner);
  for (const std::int64_t length : lengths) {
    const ProgramScope program(planner, prefill_program(length));
    (void)decoder_->prefill(run, std::vector<std::int32_t>(static_cast<std::size_t>(length)));
  }
  {
    const ProgramScope program(planner, kDecode);
    (void)decoder_->prefill(run, std::vector<std::int32_t>(1));
  }
  cast_weights(run);
  return plan_ = planner.finish();
}

void Generator::load() {
  memory_ = std::make_unique<Memory>(plan_, backend_->device().allocator());
  take_persistent(*memory_);
  model_->prepare(backend_->device());
  load_weights(source_, backend_->device(), model_->parameters(), config_);
  ops::Executor run(*backend_, *memory_);
  cast_weights(run);
}

// ---- text -----------------------------------------------------------------------------------------------------------

Generation Generator::generate(std::size_t prompt, const GenerationOptions& options,
                               const std::function<void(std::string_view)>& on_text) {
  Generation generation;
  generation.prompt_tokens = std::ssize(prompts_.at(prompt));
  ops::Executor run(*backend_, *memory_);
  if (config_.runtime.synchronous) run.wait_for_each_op();
  try {
    continue_tokens(run, prompt, options, on_text, generation);
  } catch (const DeviceFault& fault) {
    throw Failure("{}", describe_fault(fault, run));
  }
  return generation;
}

std::span<const bf16> Generator::prefill(ops::Executor& run, std::span<const std::int32_t> tokens) {
  const ProgramScope program(*memory_, prefill_program(std::ssize(tokens)));
  return decoder_->prefill(run, tokens);
}

/// Of what follows `tokens`, of which all but the last were fed before. A full cache is begun anew with the newest.
std::span<const bf16> Generator::next_logits(ops::Executor& run, std::span<const std::int32_t> tokens) {
  if (decoder_->length() == decoder_->capacity()) {
    return prefill(run, tokens.last(static_cast<std::size_t>(tokens_read_again())));
  }
  const ProgramScope program(*memory_, kDecode);
  return decoder_->step(run, tokens.back());
}

void Generator::continue_tokens(ops::Executor& run, std::size_t prompt, const GenerationOptions& options,
                                const std::function<void(std::string_view)>& on_text, Generation& generation) {
  std::vector<std::int32_t> tokens = prompts_[prompt];
  TextStream stream(options.stops);
  const auto show = [&](const std::string& text) {
    on_text(text);
    generation.text += text;
  };
  auto begin = std::chrono::steady_clock::now();
  std::span<const bf16> logits = prefill(run, tokens);
  generation.prefill_seconds = seconds_since(begin);
  begin = std::chrono::steady_clock::now();
  while (std::ssize(generation.tokens) < options.max_tokens) {
    if (!generation.tokens.empty()) {
      logits = next_logits(run, tokens);
      ++generation.steps;
    }
    // A model's vocabulary may be filled up with tokens that stand for nothing.
    const auto known = logits.first(static_cast<std::size_t>(tokenizer_->vocab_size()));
    const std::int32_t token = sample(known, options.sampling, prompt, tokens.size() - 1);
    tokens.push_back(token);
    generation.tokens.push_back(token);
    if (!ends_.contains(token)) show(stream.push(tokenizer_->decode(std::span(tokens).last(1))));
    if (!ends_.contains(token) && !stream.stopped()) continue;
    generation.finish = FinishReason::stop;
    break;
  }
  if (!stream.stopped()) show(stream.finish());
  generation.decode_seconds = seconds_since(begin);
}

}  // namespace octet
