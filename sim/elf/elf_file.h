// A 64-bit little-endian ELF file, as far as code objects use it: loadable segments, notes, symbols. Reads strictly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octet::sim {

/// Bytes of the file that lie at `address` when it is loaded; the rest of `memory_size` is zero.
struct Segment {
  std::uint64_t address;
  std::uint64_t memory_size;
  std::span<const std::byte> bytes;
  bool writable;
  bool executable;
};

struct Symbol {
  std::string name;
  std::uint64_t address;
  std::uint64_t size;
  std::uint8_t type;  ///< STT_OBJECT is 1, STT_FUNC 2
};

struct Note {
  std::string owner;
  std::uint32_t type;
  std::span<const std::byte> description;
};

/// Its spans look into the bytes that it was read from.
struct ElfFile {
  std::uint16_t machine;
  std::uint8_t os_abi;
  std::uint8_t abi_version;
  std::uint32_t flags;
  std::vector<Segment> segments;
  std::vector<Symbol> symbols;
  std::vector<Note> notes;
};

/// UserError, which calls the file `name`, when it is none or is damaged, or has relocations.
[[nodiscard]] ElfFile read_elf(std::span<const std::byte> file, const std::string& name);

}  // namespace octet::sim
