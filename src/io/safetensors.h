// Safetensors files: a strict, memory-mapped reader and a writer that adds a checksum for every tensor.
// Layout: u64 little-endian header length, JSON header, then the tensors' bytes, back to back, little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/files.h"

namespace octet {

/// The element types Octet reads and writes.
enum class FileDType { f64, f32, bf16, f16, i64, i32, u8, f8_e4m3, f8_e5m2 };

inline constexpr std::array file_dtypes = {FileDType::f64, FileDType::f32,     FileDType::bf16,
                                           FileDType::f16, FileDType::i64,     FileDType::i32,
                                           FileDType::u8,  FileDType::f8_e4m3, FileDType::f8_e5m2};

/// The format's own name: "F32", "F8_E4M3".
[[nodiscard]] std::string_view file_dtype_name(FileDType dtype);

/// Bytes per element.
[[nodiscard]] std::size_t file_dtype_bytes(FileDType dtype);

/// Bytes that the elements of a tensor take.
[[nodiscard]] std::uint64_t tensor_bytes(FileDType dtype, std::span<const std::uint64_t> shape);

/// A tensor in a file or on its way to one: row-major, `bytes` is as long as shape and dtype say.
struct FileTensor {
  std::string name;
  FileDType dtype;
  std::vector<std::uint64_t> shape;  // empty: a scalar
  std::span<const std::byte> bytes;
};

/// The free text of a file's header ("__metadata__").
using FileMetadata = std::map<std::string, std::string, std::less<>>;

/// XXH3, 64 bits: guards against accidents, not attackers.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes);

/// An open file whose header holds: known dtypes, no name twice, shapes that fit their bytes, tensors that fill the
/// data section without holes or overlaps. Anything else is a UserError that names the file and the tensor.
class SafetensorsFile {
 public:
  [[nodiscard]] static SafetensorsFile open(const std::filesystem::path& path);

  /// Ordered by place in the file. The bytes live as long as this object; Octet's own files align each tensor to its
  /// element, files of others may not.
  [[nodiscard]] std::span<const FileTensor> tensors() const { return tensors_; }

  /// The tensor of that name, or null.
  [[nodiscard]] const FileTensor* find(std::string_view name) const;

  [[nodiscard]] const FileMetadata& metadata() const { return metadata_; }

  /// Recomputes the checksums that Octet's writer put into the metadata. UserError names the first tensor whose bytes
  /// do not match, or that lacks a checksum while others have one. Returns false if the file carries none.
  [[nodiscard]] bool verify() const;

  /// Whether the bytes of one of tensors() match the checksum that the metadata have of it; nothing where there is
  /// none.
  [[nodiscard]] std::optional<bool> matches_checksum(const FileTensor& tensor) const;

 private:
  SafetensorsFile(std::filesystem::path path, MappedFile file);

  std::filesystem::path path_;
  MappedFile file_;
  std::vector<FileTensor> tensors_;
  std::map<std::string_view, std::size_t> index_;  // views the names in tensors_
  FileMetadata metadata_;
};

/// Writes a file that is whole or absent (see AtomicFile). Wider elements come first, so that every tensor is aligned;
/// otherwise the order stays. Adds metadata "xxh3.<tensor>", sixteen hexadecimal digits each; `metadata` must not hold
/// keys that start so. UserError for a full disk and the like.
void write_safetensors(const std::filesystem::path& path, std::span<const FileTensor> tensors,
                       const FileMetadata& metadata = {});

}  // namespace octet
