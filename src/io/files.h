// Files that are whole or absent: reading, mapping, and writing beside the target and renaming over it.
// Every error is a UserError that names the path and gives the system's reason.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace octet {

/// Owns a POSIX file descriptor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  [[nodiscard]] int get() const { return fd_; }
  /// Gives up ownership: closing is then the caller's.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// A regular file mapped read-only. The bytes stay valid while the object (or what it was moved to) lives, provided
/// nobody truncates the file meanwhile.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// Writes `path` so that readers see the old file or the whole new one, also across a power failure: bytes go to
/// `path`.partial, which commit() brings to disk and renames. Without a commit the target stays as it was and the
/// partial file is removed. One writer per path at a time.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  /// Replaces bytes that were written, from `offset` on.
  void overwrite(std::size_t offset, std::span<const std::byte> bytes);
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  FileDescriptor file_;
  bool committed_ = false;
};

/// Lets the system drop the pages of mapped bytes that were read and are not needed again soon; they can still be read.
void forget_pages(std::span<const std::byte> bytes);

/// The whole of a regular file.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// Replaces `path` by `text`, see AtomicFile.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Brings what was created, renamed or removed in a directory to disk.
void sync_directory(const std::filesystem::path& path);

/// Creates a directory and its parents; one that exists already is fine.
void make_directory(const std::filesystem::path& path);

}  // namespace octet
