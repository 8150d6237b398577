// Decoding with incomplete characters held back.
#include "data/stream_decoder.h"

#include <utility>

#include "data/utf8.h"

namespace octet {

std::string StreamDecoder::push(std::int32_t token) {
  std::string text = std::exchange(held_, {}) + tokenizer_.decode({&token, 1});
  const std::size_t tail = incomplete_utf8_tail(text);
  held_ = text.substr(text.size() - tail);
  text.resize(text.size() - tail);
  return text;
}

std::string StreamDecoder::finish() {
  return std::exchange(held_, {});
}

}  // namespace octet
