// tokenizer.json, the tokenizers package's file, as far as it is byte-level BPE.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "data/tokenizer_definition.h"

namespace octet {

/// What a tokenizer.json says. What Octet does not do (another model, normaliser, pre-tokenizer, decoder, truncation,
/// single_word ...) is a UserError that names it, as is every damage; nothing is ignored. `file` is the name in
/// messages.
[[nodiscard]] TokenizerDefinition parse_tokenizer_json(std::string_view text, const std::string& file);

/// Takes bos_token and eos_token from a tokenizer_config.json, whose other members are settings of Python's classes.
void parse_tokenizer_config(std::string_view text, const std::string& file, TokenizerDefinition& definition);

/// A tokenizer.json and, where there is one beside it, tokenizer_config.json.
[[nodiscard]] TokenizerDefinition read_tokenizer_json(const std::filesystem::path& path);

/// A tokenizer.json that the tokenizers package reads and from which parse_tokenizer_json() gives `definition` again.
/// Merges are written in the order of their ranks. bos, eos and name are not part of the file.
[[nodiscard]] std::string tokenizer_json_text(const TokenizerDefinition& definition);

}  // namespace octet
