// Bytes to tokens and back.
#include "data/byte_tokenizer.h"

#include <algorithm>

#include "core/error.h"

namespace octet {

void ByteTokenizer::encode(std::string_view text, std::vector<std::int32_t>& tokens) const {
  const std::size_t before = tokens.size();
  // Grows by factors; reserve() would move all tokens of a batch at each of its documents.
  tokens.resize(before + text.size());
  std::ranges::transform(text, tokens.begin() + static_cast<std::ptrdiff_t>(before),
                         [](char c) { return static_cast<unsigned char>(c); });
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
