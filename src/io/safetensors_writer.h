// A safetensors file written tensor by tensor, for models that no memory holds.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/files.h"
#include "io/safetensors.h"

namespace octet {

/// Tensors come in the order in which the header lists them; for each to be aligned, wider elements come first. Each
/// gets a checksum in the metadata, as write_safetensors gives it. The file is whole or absent (see AtomicFile).
class SafetensorsWriter {
 public:
  /// `tensors` have names, dtypes and shapes; what their bytes are is ignored. Names are unique. UserError where the
  /// file cannot be made.
  SafetensorsWriter(const std::filesystem::path& path, std::span<const FileTensor> tensors, FileMetadata metadata);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  /// The next bytes of the tensor that is being written; none beyond its end.
  void write(std::span<const std::byte> bytes);
  /// Ends a tensor of which all bytes were written.
  void end_tensor();
  /// After all tensors. Writes the checksums into the header and gives the file its name.
  void commit();

 private:
  class Hash;

  [[nodiscard]] std::string header() const;

  std::vector<FileTensor> tensors_;
  FileMetadata metadata_;  // with a checksum for each tensor: zeros until it was written
  AtomicFile file_;
  std::unique_ptr<Hash> hash_;
  std::size_t current_ = 0;    // index of the tensor that is being written
  std::uint64_t written_ = 0;  // bytes of it
};

}  // namespace octet
