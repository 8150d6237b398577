// Text from a trained run: the checkpoint's weights, one token at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/config.h"
#include "model/llama_decoder.h"

namespace octet {

struct SamplingOptions {
  std::int64_t tokens = 300;
  double temperature = 0.8;  ///< 0 always takes the likeliest token
  std::int64_t top_k = 40;   ///< 0 considers the whole vocabulary
  std::uint64_t seed = 1;
};

class Generator {
 public:
  /// Loads the newest checkpoint of a run. Throws UserError where there is none or it is damaged.
  explicit Generator(const std::filesystem::path& run_directory);

  /// Continues `prompt`; `on_text` sees it once the model is loaded, then each piece as it is written. Returns prompt
  /// and continuation. Throws UserError for an empty prompt. The model sees at most as many tokens as its training
  /// sequences had: when they are full, it reads the newer half of them again and goes on.
  std::string generate(std::string_view prompt, const SamplingOptions& options,
                       const std::function<void(std::string_view)>& on_text);

  [[nodiscard]] const Config& config() const { return config_; }

 private:
  void prepare(std::int64_t capacity);
  /// Reads `tokens`, then writes on; what it wrote.
  [[nodiscard]] std::string continue_text(ops::Executor& run, std::vector<std::int32_t> tokens,
                                          const SamplingOptions& options,
                                          const std::function<void(std::string_view)>& on_text);

  // Destroyed from the last to the first: buffers before the memory that they are of.
  std::filesystem::path checkpoint_;
  Config config_;
  std::unique_ptr<ops::Backend> backend_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Llama> model_;
  std::unique_ptr<LlamaDecoder> decoder_;
};

}  // namespace octet
