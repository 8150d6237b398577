// The JSON header of a safetensors file, parsed without trust: what it claims, before it is held against the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.h"

namespace octet {

struct SafetensorsEntry {
  std::string name;
  FileDType dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin;  // in bytes from the start of the data section
  std::uint64_t end;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the header's order
  FileMetadata metadata;
};

/// UserError that starts with `file` for anything but the format's own structure: each tensor with dtype, shape and two
/// data_offsets exactly once, no name twice, metadata of strings only.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view json, std::string_view file);

/// What the metadata's keys of checksums begin with.
inline constexpr std::string_view checksum_prefix = "xxh3.";
/// The key under which Octet keeps the checksum of a tensor, and the checksum as it stands there: 16 hexadecimal
/// digits.
[[nodiscard]] std::string checksum_key(std::string_view tensor);
[[nodiscard]] std::string checksum_text(std::uint64_t checksum);

/// The header of tensors that lie back to back in the given order, padded with spaces to a multiple of 8 bytes.
[[nodiscard]] std::string safetensors_header(std::span<const FileTensor* const> tensors, const FileMetadata& metadata);

}  // namespace octet
