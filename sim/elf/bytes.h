// Reading little-endian fields out of bytes whose length is checked.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/error.h"

namespace octet::sim {

static_assert(std::endian::native == std::endian::little, "fields are copied as they lie");

/// The bytes of a file with a name for errors. Every access is checked: UserError when it leaves the bytes.
class Bytes {
 public:
  Bytes(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  [[nodiscard]] std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size, const char* what) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      throw UserError("{}: damaged: {} lies outside of the file: compile it again", name_, what);
    }
    return bytes_.subspan(offset, size);
  }

  template <typename T>
  [[nodiscard]] T field(std::uint64_t offset, const char* what) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, range(offset, sizeof(T), what).data(), sizeof(T));
    return value;
  }

  /// Up to the next zero byte.
  [[nodiscard]] std::string text(std::uint64_t offset, const char* what) const {
    const std::span<const std::byte> rest =
        range(offset, bytes_.size() - std::min<std::uint64_t>(offset, size()), what);
    const std::string_view view(reinterpret_cast<const char*>(rest.data()), rest.size());
    const std::size_t end = view.find('\0');
    if (end == std::string_view::npos) throw UserError("{}: damaged: {} has no end: compile it again", name_, what);
    return std::string(view.substr(0, end));
  }

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
};

}  // namespace octet::sim
