// The steps around the model in a tokenizer.json: normalizer, pre_tokenizer, post_processor, decoder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "data/tokenizer_definition.h"

namespace octet {

/// Each reads one member of the file into `definition` and throws UserError for what it does not know.
void read_normalizer(const nlohmann::json& value, const std::string& file, TokenizerDefinition& definition);
void read_pre_tokenizer(const nlohmann::json& value, const std::string& file, TokenizerDefinition& definition);
void read_post_processor(const nlohmann::json& value, const std::string& file, TokenizerDefinition& definition);
void check_decoder(const nlohmann::json& value, const std::string& file);

/// The members that the definition stands for, as tokenizer.json has them.
[[nodiscard]] nlohmann::ordered_json normalizer_json(const TokenizerDefinition& definition);
[[nodiscard]] nlohmann::ordered_json pre_tokenizer_json(const TokenizerDefinition& definition);
[[nodiscard]] nlohmann::ordered_json post_processor_json(const TokenizerDefinition& definition);
[[nodiscard]] nlohmann::ordered_json byte_level_json();

}  // namespace octet
