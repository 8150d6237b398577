// Source lines of machine code: what `clang -gline-tables-only` or `-g` leaves in a code object, as DWARF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octet::sim {

/// From addresses of code to lines of the source.
class SourceLines {
 public:
  /// Knows of none.
  SourceLines() = default;

  /// Those of an ELF file whose relocations have been applied: none, where it has no debug information or what it has
  /// is damaged, as only messages depend on it.
  explicit SourceLines(std::span<const std::byte> file);

  /// "kernels.hip:42"; of inlined code also where it was called, inner calls first: "device.h:7 inlined at
  /// kernels.hip:42". Names are as the compiler wrote them, but without the directory in which it ran. Empty where
  /// nothing is known.
  [[nodiscard]] std::string at(std::uint64_t address) const;

 private:
  class Reader;
  struct Line {
    std::uint32_t file;    // in files_
    std::uint32_t number;  // from 1; 0 where the compiler names none
  };
  struct Row {
    std::uint64_t address;  // from which on the line holds
    Line line;
  };
  struct Call {
    std::uint64_t begin, end;  // of the code that was inlined
    Line line;
  };
  [[nodiscard]] std::string text(const Line& line) const;

  std::vector<std::string> files_;
  std::vector<Row> rows_;    // by address
  std::vector<Call> calls_;  // a call before those inlined into it
};

}  // namespace octet::sim
