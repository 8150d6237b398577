// A file mapped read-only into memory for as long as the object lives.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace octet {

class MappedFile {
 public:
  /// Throws UserError when `path` is missing, unreadable or not a regular file. An empty file maps to no bytes.
  /// The file must not shrink while it is mapped: reading past its new end kills the process.
  explicit MappedFile(const std::filesystem::path& path);

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get(), data_.get_deleter().size}; }

 private:
  struct Unmap {
    std::size_t size;
    void operator()(const std::byte* data) const;
  };
  std::unique_ptr<const std::byte, Unmap> data_{nullptr, Unmap{0}};
};

}  // namespace octet
