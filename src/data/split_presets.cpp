// The patterns of GPT-2, cl100k and o200k (OpenAI), Llama 3 (Meta), Qwen (Alibaba) and DeepSeek-V3, as their files have
// them, and the special tokens of those that come as tiktoken files.
#include "data/split_presets.h"

#include <fmt/format.h>

#include "core/error.h"

namespace octet {
namespace {

constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";

constexpr std::string_view kQwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kDeepSeekWords =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

std::vector<SplitStage> one(std::string_view pattern) {
  return {{std::string(pattern)}};
}

const std::vector<SplitPreset>& presets() {
  static const std::vector<SplitPreset> all = {
      {"gpt2", one(kGpt2Pattern)},
      {"cl100k", one(kLlama3Pattern)},  // Llama 3 took it over
      {"llama3", one(kLlama3Pattern)},
      {"o200k", one(kO200kPattern)},
      {"qwen", one(kQwenPattern), true},
      {"deepseek_v3", {{R"(\p{N}{1,3})"}, {"[一-龥\u3040-ゟ゠-ヿ]+"}, {std::string(kDeepSeekWords)}}}};
  return all;
}

/// Llama 3.1's 256, whose reserved ones fill the places that have no name.
std::vector<std::pair<std::string, std::int32_t>> llama3_special_tokens() {
  const std::vector<std::pair<std::string, std::int32_t>> named = {
      {"<|begin_of_text|>", 0},   {"<|end_of_text|>", 1},   {"<|finetune_right_pad_id|>", 4},
      {"<|start_header_id|>", 6}, {"<|end_header_id|>", 7}, {"<|eom_id|>", 8},
      {"<|eot_id|>", 9},          {"<|python_tag|>", 10}};
  std::vector<std::pair<std::string, std::int32_t>> all;
  int reserved = 0;
  auto next = named.begin();
  for (std::int32_t id = 0; id < 256; ++id) {
    if (next != named.end() && next->second == id) {
      all.push_back(*next++);
    } else {
      all.emplace_back(fmt::format("<|reserved_special_token_{}|>", reserved++), id);
    }
  }
  return all;
}

const std::vector<TiktokenEncoding>& encodings() {
  static const std::vector<TiktokenEncoding> all = {
      {"gpt2", {{"<|endoftext|>", 0}}},
      {"cl100k",
       {{"<|endoftext|>", 1},
        {"<|fim_prefix|>", 2},
        {"<|fim_middle|>", 3},
        {"<|fim_suffix|>", 4},
        {"<|endofprompt|>", 20}}},
      {"llama3", llama3_special_tokens()},
      {"o200k", {{"<|endoftext|>", 1}, {"<|endofprompt|>", 20}}},
      {"qwen", {{"<|endoftext|>", 0}, {"<|im_start|>", 1}, {"<|im_end|>", 2}}}};
  return all;
}

}  // namespace

const SplitPreset& split_preset(std::string_view name) {
  std::string names;
  for (const SplitPreset& preset : presets()) {
    if (preset.name == name) return preset;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", preset.name);
  }
  throw UserError("there is no way to split text named \"{}\": there are {}", name, names);
}

std::vector<std::string_view> split_preset_names() {
  std::vector<std::string_view> names;
  for (const SplitPreset& preset : presets()) names.push_back(preset.name);
  return names;
}

const TiktokenEncoding* tiktoken_encoding(std::string_view name) {
  for (const TiktokenEncoding& encoding : encodings()) {
    if (encoding.name == name) return &encoding;
  }
  return nullptr;
}

std::vector<std::string_view> tiktoken_encoding_names() {
  std::vector<std::string_view> names;
  for (const TiktokenEncoding& encoding : encodings()) names.push_back(encoding.name);
  return names;
}

}  // namespace octet
