// Bytes to tokens and back.
#include "data/byte_tokenizer.h"

#include "core/error.h"

namespace octet {

void ByteTokenizer::encode(std::string_view text, std::vector<std::int32_t>& tokens) const {
  tokens.reserve(tokens.size() + text.size());
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
}

std::string ByteTokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  text.reserve(tokens.size());
  for (const std::int32_t token : tokens) {
    if (token < 0 || token > 255) {
      throw UserError("token {} is outside the 256 of the byte tokenizer: use the tokenizer that made it", token);
    }
    text.push_back(static_cast<char>(token));
  }
  return text;
}

}  // namespace octet
