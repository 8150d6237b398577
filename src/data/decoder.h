// Decompression as a stream: gzip and zstd behind one interface.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace octet {

class Decoder {
 public:
  struct Step {
    std::size_t consumed = 0;      ///< of `in`
    std::size_t produced = 0;      ///< of `out`
    std::string_view reason = {};  ///< what is wrong with the data; empty: nothing
  };

  virtual ~Decoder() = default;

  /// Decodes as much as `in` and `out` allow. `out` is not empty; an empty `in` asks for what is still held back.
  [[nodiscard]] virtual Step step(std::span<const std::byte> in, std::span<char> out) = 0;
  /// Whether the data may end here: no member or frame is open.
  [[nodiscard]] virtual bool may_end() const = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
};

/// The decoder for a file that begins with these bytes; null where it is not compressed.
[[nodiscard]] std::unique_ptr<Decoder> make_decoder(std::span<const std::byte> file);

}  // namespace octet
