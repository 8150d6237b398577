// Lines of an input file, however long, in memory that a limit bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "data/input_file.h"

namespace octet {

class LineReader {
 public:
  LineReader(InputFile& file, std::uint64_t max_bytes) : file_(file), max_bytes_(max_bytes) {}

  /// The next line with its "\n", which the last may lack; valid until the next call. False at the end.
  /// Throws UserError, with file and line, for a line of more than `max_bytes`.
  [[nodiscard]] bool next(std::string_view& line);

  /// The line that next() gave last, from 1.
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  [[nodiscard]] bool refill();

  InputFile& file_;
  std::uint64_t max_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what was not handed out yet
  std::size_t end_ = 0;    // of what was read
  std::uint64_t number_ = 0;
};

}  // namespace octet
