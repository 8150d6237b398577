// The bytes of a text file, decompressed on the way where it is gzip or zstd.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "io/files.h"

namespace octet {

class Decoder;

/// gzip and zstd are known by their first bytes; any number of members or frames may follow each other. Memory is
/// bounded by the window that a zstd frame asks for, at most 128 MiB.
class InputFile {
 public:
  /// Throws UserError for a file that cannot be opened, or is named .gz or .zst and is not what its name says.
  explicit InputFile(std::filesystem::path path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  /// Fills `out`, not empty, from its front and says how many bytes came; 0 at the end alone. Throws UserError, with
  /// the position in the file, where compressed data are truncated or damaged.
  [[nodiscard]] std::size_t read(std::span<char> out);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Bytes of the file, as stored, that have been read.
  [[nodiscard]] std::uint64_t bytes_read() const { return file_.bytes().size() - rest_.size(); }
  /// XXH3-64 of those bytes.
  [[nodiscard]] std::uint64_t checksum() const { return XXH3_64bits_digest(hash_.get()); }

 private:
  struct FreeHash {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  void consume(std::size_t count);
  [[nodiscard]] std::size_t read_plain(std::span<char> out);

  std::filesystem::path path_;
  MappedFile file_;
  std::span<const std::byte> rest_;
  std::unique_ptr<XXH3_state_t, FreeHash> hash_;
  std::unique_ptr<Decoder> decoder_;  // null where the file is not compressed
};

}  // namespace octet
