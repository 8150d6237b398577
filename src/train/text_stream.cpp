#include "train/text_stream.h"

#include <algorithm>
#include <utility>

namespace octet {
namespace {

/// The length of the character that begins with this byte; 0 where none does.
std::size_t character_bytes(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

/// Bytes at the end of `text` that begin a character whose rest is still to come.
std::size_t begun_character(std::string_view text) {
  for (std::size_t tail = 1; tail <= std::min<std::size_t>(3, text.size()); ++tail) {
    const auto byte = static_cast<unsigned char>(text[text.size() - tail]);
    if ((byte & 0xC0U) == 0x80U) continue;  // the middle of a character
    return character_bytes(byte) > tail ? tail : 0;
  }
  return 0;
}

/// The longest end of `text` that begins `stop` without being all of it.
std::size_t begun_stop(std::string_view text, std::string_view stop) {
  for (std::size_t tail = std::min(text.size(), stop.size() - 1); tail > 0; --tail) {
    if (stop.starts_with(text.substr(text.size() - tail))) return tail;
  }
  return 0;
}

}  // namespace

std::string TextStream::push(std::string_view piece) {
  if (stopped()) return {};
  held_ += piece;
  // The first to be whole, whatever pieces it came in.
  std::size_t begin = 0;
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops_) {
    const std::size_t at = held_.find(stop);
    if (at == std::string::npos || std::pair(at + stop.size(), at) >= std::pair(end, begin)) continue;
    begin = at;
    end = at + stop.size();
    stop_ = stop;
  }
  if (stopped()) {
    held_.resize(begin);
    return std::exchange(held_, {});
  }
  const std::size_t shown = held_.size() - undecided();
  std::string text = held_.substr(0, shown);
  held_.erase(0, shown);
  return text;
}

std::size_t TextStream::undecided() const {
  std::size_t tail = begun_character(held_);
  for (const std::string& stop : stops_) tail = std::max(tail, begun_stop(held_, stop));
  return tail;
}

std::string TextStream::finish() {
  return std::exchange(held_, {});
}

}  // namespace octet
