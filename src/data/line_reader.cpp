// Finds line ends in a buffer that grows with the longest line.
#include "data/line_reader.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/error.h"

namespace octet {

bool LineReader::next(std::string_view& line) {
  std::size_t searched = 0;  // of the line, whose beginning refill() moves
  bool more = true;
  while (true) {
    const std::string_view rest = std::string_view(buffer_).substr(begin_, end_ - begin_);
    const std::size_t at = rest.find('\n', searched);
    const bool whole = at != std::string_view::npos;
    line = whole ? rest.substr(0, at + 1) : rest;
    if (line.size() > max_bytes_) {
      throw UserError("{}:{}: the line is longer than {} bytes: correct the file, or raise --max-document-bytes",
                      file_.path().string(), number_ + 1, max_bytes_);
    }
    if (whole || !more) break;
    searched = rest.size();
    more = refill();
  }
  begin_ += line.size();
  if (!line.empty()) ++number_;
  return !line.empty();
}

/// Reads on behind the line that has begun, which moves to the front.
bool LineReader::refill() {
  constexpr std::size_t kReadBytes = std::size_t{1} << 18;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (buffer_.size() < end_ + kReadBytes) buffer_.resize(std::max(end_ + kReadBytes, 2 * buffer_.size()));
  const std::size_t count = file_.read(std::span(buffer_).subspan(end_));
  end_ += count;
  return count > 0;
}

}  // namespace octet
