#include "train/text_stream.h"

#include <algorithm>
#include <utility>

#include "data/utf8.h"

namespace octet {
namespace {

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
  std::size_t tail = incomplete_utf8_tail(held_);
  for (const std::string& stop : stops_) tail = std::max(tail, begun_stop(held_, stop));
  return tail;
}

std::string TextStream::finish() {
  return std::exchange(held_, {});
}

}  // namespace octet
