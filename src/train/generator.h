// Text from a trained model: prompts in one pass each, then a token at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "io/config.h"
#include "model/decoder.h"
#include "train/model_directory.h"
#include "train/sampling.h"

namespace octet {

enum class WeightsIn : std::uint8_t { bf16, fp8 };

/// What a model is opened with; what is not given is as its configuration says.
struct GeneratorOptions {
  std::string device;                   ///< as runtime.device
  std::optional<WeightsIn> weights;     ///< fp8: the run's own recipe, or rowwise where it trained in bf16
  std::string tokenizer;                ///< as open_tokenizer() names it
  std::string begin_token;              ///< name of a special token to put before each prompt
  std::vector<std::string> end_tokens;  ///< names of special tokens that end a text, beside the tokenizer's own
};

struct GenerationOptions {
  std::int64_t max_tokens = 300;
  SamplingOptions sampling;
  std::vector<std::string> stops;  ///< texts before which a text ends
};

enum class FinishReason : std::uint8_t { stop, length };

struct Generation {
  std::string text;  ///< what follows the prompt, up to what stopped it
  std::int64_t prompt_tokens = 0;
  std::vector<std::int32_t> tokens;  ///< all that were drawn, with those that stopped it
  FinishReason finish = FinishReason::length;
  double prefill_seconds = 0;  ///< of the prompt, to the logits of the first token
  std::int64_t steps = 0;      ///< passes after it, each for one more token
  double decode_seconds = 0;   ///< of all that, with draws
};

class Generator {
 public:
  /// Opens device and tokenizer, loads nothing yet. Throws UserError where find_model() finds none, and for a tokenizer
  /// that is not the model's.
  Generator(const std::filesystem::path& model, const GeneratorOptions& options);

  /// Plans memory for continuing each of `prompts` by up to `max_tokens`, which is what it takes. Throws UserError for
  /// a prompt that is empty or longer than the model's context.
  const MemoryPlan& plan(const std::vector<std::string>& prompts, std::int64_t max_tokens);
  /// Takes that memory and loads the weights. Throws UserError where the device has less, or the weights are damaged.
  void load();

  /// Continues the prompt of that place in the plan; `on_text` sees each piece as it is written. The model sees at most
  /// as many tokens as its training sequences had: when they are full, it reads the newer half of them again and goes
  /// on. Each prompt has random numbers of its own.
  [[nodiscard]] Generation generate(std::size_t prompt, const GenerationOptions& options,
                                    const std::function<void(std::string_view)>& on_text);

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  void take_persistent(Memory& memory);
  void cast_weights(ops::Executor& run);
  std::span<const bf16> prefill(ops::Executor& run, std::span<const std::int32_t> tokens);
  std::span<const bf16> next_logits(ops::Executor& run, std::span<const std::int32_t> tokens);
  [[nodiscard]] std::int64_t tokens_read_again() const { return (decoder_->capacity() + 1) / 2; }
  [[nodiscard]] std::int32_t special_token(const std::string& name) const;
  void continue_tokens(ops::Executor& run, std::size_t prompt, const GenerationOptions& options,
                       const std::function<void(std::string_view)>& on_text, Generation& generation);

  // Destroyed from the last to the first: buffers before the memory that they are of.
  ModelDirectory source_;
  Config config_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<std::int32_t> begin_;  // before each prompt
  std::set<std::int32_t> ends_;
  std::vector<std::vector<std::int32_t>> prompts_;
  std::unique_ptr<ops::Backend> backend_;
  MemoryPlan plan_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace octet
