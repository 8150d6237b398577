// Format: "DWARF Debugging Information Format, Version 5", sections 3.3.8 (inlined subroutines) and 6.2 (line numbers).
// libdw reads it, of elfutils; it needs to know nothing of the processor, as linked files have no relocations left.
#include "sim/elf/source_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>
#include <libelf.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>

namespace octet::sim {

class SourceLines::Reader {
 public:
  explicit Reader(SourceLines& lines) : lines_(lines) {}

  /// A compilation unit.
  void read(Dwarf_Die& unit) {
    Dwarf_Attribute attribute{};
    const char* directory = dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));
    directory_ = directory == nullptr ? "" : std::string(directory) + "/";
    read_rows(unit);
    Dwarf_Files* files = nullptr;
    if (dwarf_getsrcfiles(&unit, &files, nullptr) == 0) read_calls(unit, files, 0);
  }

 private:
  void read_rows(Dwarf_Die& unit) {
    Dwarf_Lines* rows = nullptr;
    std::size_t count = 0;
    if (dwarf_getsrclines(&unit, &rows, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      Dwarf_Line* row = dwarf_onesrcline(rows, i);
      Dwarf_Addr address = 0;
      int number = 0;
      bool is_end = false;
      const char* path = dwarf_linesrc(row, nullptr, nullptr);
      if (path == nullptr || dwarf_lineaddr(row, &address) != 0 || dwarf_lineno(row, &number) != 0 ||
          dwarf_lineendsequence(row, &is_end) != 0) {
        continue;
      }
      lines_.rows_.push_back({address, {file(path), is_end ? 0 : static_cast<std::uint32_t>(number)}});
    }
  }

  void read_calls(Dwarf_Die& parent, Dwarf_Files* files, int depth) {
    constexpr int kDeepest = 200;  // a damaged file must not exhaust the stack
    Dwarf_Die child{};
    if (depth > kDeepest || dwarf_child(&parent, &child) != 0) return;
    for (Dwarf_Off last = dwarf_dieoffset(&parent); dwarf_dieoffset(&child) > last;) {  // nor lead in a circle
      if (dwarf_tag(&child) == DW_TAG_inlined_subroutine) add_call(child, files);
      read_calls(child, files, depth + 1);
      last = dwarf_dieoffset(&child);
      if (dwarf_siblingof(&child, &child) != 0) return;
    }
  }

  void add_call(Dwarf_Die& call, Dwarf_Files* files) {
    const auto number = [&](unsigned name) {
      Dwarf_Attribute attribute{};
      Dwarf_Word value = 0;
      return dwarf_formudata(dwarf_attr(&call, name, &attribute), &value) == 0 ? value : 0;
    };
    const char* path = dwarf_filesrc(files, number(DW_AT_call_file), nullptr, nullptr);
    if (path == nullptr) return;
    const Line line{file(path), static_cast<std::uint32_t>(number(DW_AT_call_line))};
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&call, at, &base, &begin, &end)) > 0;) {
      lines_.calls_.push_back({begin, end, line});
    }
  }

  std::uint32_t file(std::string_view path) {
    if (!directory_.empty() && path.starts_with(directory_)) path.remove_prefix(directory_.size());
    const auto [found, is_new] = numbers_.emplace(path, static_cast<std::uint32_t>(lines_.files_.size()));
    if (is_new) lines_.files_.emplace_back(path);
    return found->second;
  }

  SourceLines& lines_;
  std::string directory_;                         // of the unit's compilation, with a slash behind
  std::map<std::string, std::uint32_t> numbers_;  // in files_
};

SourceLines::SourceLines(std::span<const std::byte> file) {
  const auto* characters = reinterpret_cast<const char*>(file.data());
  std::vector<char> image(characters, characters + file.size());  // the library asks for what it may write
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_memory(image.data(), image.size()), elf_end);
  if (elf == nullptr) return;
  const std::unique_ptr<Dwarf, int (*)(Dwarf*)> dwarf(dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr), dwarf_end);
  if (dwarf == nullptr) return;
  Reader reader(*this);
  Dwarf_Off next = 0;
  std::size_t header_size = 0;
  for (Dwarf_Off at = 0; dwarf_nextcu(dwarf.get(), at, &next, &header_size, nullptr, nullptr, nullptr) == 0;
       at = next) {
    Dwarf_Die unit{};
    if (dwarf_offdie(dwarf.get(), at + header_size, &unit) != nullptr) reader.read(unit);
  }
  // Where one function ends and the next begins, the row that names a line is the last.
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
    return a.address != b.address ? a.address < b.address : a.line.number == 0 && b.line.number != 0;
  });
}

std::string SourceLines::text(const Line& line) const {
  return fmt::format("{}:{}", files_[line.file], line.number);
}

std::string SourceLines::at(std::uint64_t address) const {
  const auto after = std::upper_bound(rows_.begin(), rows_.end(), address,
                                      [](std::uint64_t wanted, const Row& row) { return wanted < row.address; });
  if (after == rows_.begin() || std::prev(after)->line.number == 0) return "";
  std::string place = text(std::prev(after)->line);
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (call->begin <= address && address < call->end) place += " inlined at " + text(call->line);
  }
  return place;
}

}  // namespace octet::sim
