// The layout is that of the System V ABI's "Object Files" chapter.
#include "sim/elf/elf_file.h"

#include "sim/elf/bytes.h"

namespace octet::sim {
namespace {

constexpr std::uint64_t kHeaderSize = 64;
constexpr std::uint64_t kProgramHeaderSize = 56;
constexpr std::uint64_t kSectionHeaderSize = 64;
constexpr std::uint64_t kSymbolSize = 24;
constexpr std::uint32_t kLoad = 1;             // PT_LOAD
constexpr std::uint32_t kNote = 4;             // PT_NOTE
constexpr std::uint32_t kExecutable = 1;       // PF_X
constexpr std::uint32_t kWritable = 2;         // PF_W
constexpr std::uint32_t kRelocations = 4;      // SHT_RELA
constexpr std::uint32_t kDynamicSymbols = 11;  // SHT_DYNSYM

std::uint64_t aligned4(std::uint64_t size) {
  return (size + 3) & ~std::uint64_t{3};
}

void read_notes(const Bytes& segment, std::vector<Note>& notes) {
  for (std::uint64_t at = 0; at < segment.size();) {
    const auto name_size = segment.field<std::uint32_t>(at, "a note");
    const auto size = segment.field<std::uint32_t>(at + 4, "a note");
    const auto type = segment.field<std::uint32_t>(at + 8, "a note");
    std::string owner = segment.text(at + 12, "a note's owner");
    at += 12 + aligned4(name_size);
    notes.push_back({std::move(owner), type, segment.range(at, size, "a note")});
    at += aligned4(size);
  }
}

void read_segments(const Bytes& file, ElfFile& elf) {
  const auto table = file.field<std::uint64_t>(32, "the header");
  const auto count = file.field<std::uint16_t>(56, "the header");
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t header = table + i * kProgramHeaderSize;
    const auto type = file.field<std::uint32_t>(header, "a program header");
    const auto flags = file.field<std::uint32_t>(header + 4, "a program header");
    const auto offset = file.field<std::uint64_t>(header + 8, "a program header");
    const auto address = file.field<std::uint64_t>(header + 16, "a program header");
    const auto file_size = file.field<std::uint64_t>(header + 32, "a program header");
    const auto memory_size = file.field<std::uint64_t>(header + 40, "a program header");
    if (type != kLoad && type != kNote) continue;
    const std::span<const std::byte> bytes = file.range(offset, file_size, "a segment");
    if (type == kNote) {
      read_notes(Bytes(bytes, file.name()), elf.notes);
      continue;
    }
    // Linkers put segments one after the other, pages apart: an address far off is damage, not a huge image.
    constexpr std::uint64_t kLargest = std::uint64_t{1} << 28;
    constexpr std::uint64_t kFarthest = std::uint64_t{1} << 16;
    const bool near_the_last = address >= end && address - end <= kFarthest;
    if (memory_size < file_size || memory_size > kLargest || !near_the_last) {
      throw UserError("{}: damaged: a segment has an impossible size or place: compile it again", file.name());
    }
    end = address + memory_size;
    elf.segments.push_back({address, memory_size, bytes, (flags & kWritable) != 0, (flags & kExecutable) != 0});
  }
}

void read_symbols(const Bytes& file, std::uint64_t sections, std::uint64_t header, std::vector<Symbol>& symbols) {
  const auto offset = file.field<std::uint64_t>(header + 24, "a section header");
  const auto size = file.field<std::uint64_t>(header + 32, "a section header");
  const auto link = file.field<std::uint32_t>(header + 40, "a section header");
  const auto names = file.field<std::uint64_t>(sections + link * kSectionHeaderSize + 24, "a section header");
  const Bytes table(file.range(offset, size, "the symbol table"), file.name());
  for (std::uint64_t at = 0; at + kSymbolSize <= table.size(); at += kSymbolSize) {
    const auto name = table.field<std::uint32_t>(at, "a symbol");
    const auto information = table.field<std::uint8_t>(at + 4, "a symbol");
    symbols.push_back({file.text(names + name, "a symbol's name"), table.field<std::uint64_t>(at + 8, "a symbol"),
                       table.field<std::uint64_t>(at + 16, "a symbol"), static_cast<std::uint8_t>(information & 15U)});
  }
}

void read_sections(const Bytes& file, ElfFile& elf) {
  const auto table = file.field<std::uint64_t>(40, "the header");
  const auto count = file.field<std::uint16_t>(60, "the header");
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t header = table + i * kSectionHeaderSize;
    const auto type = file.field<std::uint32_t>(header + 4, "a section header");
    if (type == kRelocations && file.field<std::uint64_t>(header + 32, "a section header") != 0) {
      throw UserError("{}: has relocations, which the simulator does not apply: do not take addresses of other objects",
                      file.name());
    }
    if (type == kDynamicSymbols) read_symbols(file, table, header, elf.symbols);
  }
}

}  // namespace

ElfFile read_elf(std::span<const std::byte> bytes, const std::string& name) {
  const Bytes file(bytes, name);
  constexpr std::uint32_t kMagic = 0x464C457F;
  if (file.size() < kHeaderSize || file.field<std::uint32_t>(0, "the magic number") != kMagic) {
    throw UserError("{}: is no ELF file: give a code object that clang wrote for one GPU", name);
  }
  constexpr std::uint8_t kClass64 = 2;
  constexpr std::uint8_t kLittleEndian = 1;
  if (file.field<std::uint8_t>(4, "the header") != kClass64 ||
      file.field<std::uint8_t>(5, "the header") != kLittleEndian) {
    throw UserError("{}: is no little-endian ELF file of 64 bits: give a code object that clang wrote for a GPU", name);
  }
  ElfFile elf{};
  elf.os_abi = file.field<std::uint8_t>(7, "the header");
  elf.abi_version = file.field<std::uint8_t>(8, "the header");
  elf.machine = file.field<std::uint16_t>(18, "the header");
  elf.flags = file.field<std::uint32_t>(48, "the header");
  read_segments(file, elf);
  read_sections(file, elf);
  return elf;
}

}  // namespace octet::sim
