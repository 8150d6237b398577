// Small tokenizers for tests: the 256 bytes and a few merges.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/byte_level.h"
#include "data/tokenizer_definition.h"
#include "data/tokenizer_json.h"

namespace octet {

/// The bytes are tokens 0 to 255, in their order; each merge makes the next token.
inline TokenizerDefinition sample_definition(const std::vector<std::pair<std::string, std::string>>& merges,
                                             std::string_view pattern = R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+)") {
  TokenizerDefinition definition;
  definition.name = "sample";
  for (int byte = 0; byte < 256; ++byte) definition.pieces.emplace_back(1, static_cast<char>(byte));
  const auto id_of = [&](const std::string& piece) {
    std::size_t id = 0;
    while (definition.pieces.at(id) != piece) ++id;
    return static_cast<std::int32_t>(id);
  };
  for (const auto& [left, right] : merges) {
    definition.merges.push_back({id_of(left), id_of(right), static_cast<std::int32_t>(definition.pieces.size()),
                                 static_cast<std::int32_t>(definition.merges.size())});
    definition.pieces.push_back(left + right);
  }
  definition.stages = {{std::string(pattern)}};
  return definition;
}

inline AddedToken special_token_named(std::string content, std::int32_t id) {
  AddedToken token;
  token.id = id;
  token.content = std::move(content);
  token.special = true;
  return token;
}

/// A tokenizer.json with two merges, one added token and a template, to be changed by tests.
inline nlohmann::json sample_json() {
  TokenizerDefinition definition = sample_definition({{"a", "b"}, {"ab", "c"}});
  definition.added.push_back(special_token_named("<|endoftext|>", 258));
  definition.pieces.push_back("<|endoftext|>");
  definition.prefix = {258};
  return nlohmann::json::parse(tokenizer_json_text(definition));
}

}  // namespace octet
