// How the known families split text, by name: for files that do not say it and for new tokenizers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/pre_split.h"

namespace octet {

/// GPT-2's pattern, which ByteLevel's use_regex means as well.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct SplitPreset {
  std::string_view name;
  std::vector<SplitStage> stages;
  bool nfc = false;  ///< Unicode's Normalization Form C comes first
};

/// gpt2, cl100k, llama3, o200k, qwen, deepseek_v3.
[[nodiscard]] const SplitPreset& split_preset(std::string_view name);
[[nodiscard]] std::vector<std::string_view> split_preset_names();

/// A known encoding in tiktoken's form: a preset, and the names that stand beside the ranks of the file.
struct TiktokenEncoding {
  std::string_view name;  ///< of its preset too
  /// Names and ids, counted from the number of ranks in the file.
  std::vector<std::pair<std::string, std::int32_t>> special;
};

/// gpt2, cl100k, llama3, o200k or qwen; null for other names.
[[nodiscard]] const TiktokenEncoding* tiktoken_encoding(std::string_view name);
[[nodiscard]] std::vector<std::string_view> tiktoken_encoding_names();

}  // namespace octet
