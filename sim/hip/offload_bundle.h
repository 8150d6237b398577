// Clang's bundle of code objects for several processors, which hipcc writes: Clang's "Offload Bundler", "Bundled Binary
// File Layout". Compressed ones are not read.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet::sim::hip {

inline constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";

struct BundleEntry {
  std::string processor;  ///< "gfx942"; empty for what is not for an AMD GPU
  std::span<const std::byte> bytes;
};

[[nodiscard]] bool is_bundle(std::span<const std::byte> image);

/// UserError when an entry lies outside of the bundle.
[[nodiscard]] std::vector<BundleEntry> bundle_entries(std::span<const std::byte> bundle);

/// Of the bundle that begins here, whose header is believed: up to the end of its last entry. UserError when the header
/// is longer than any.
[[nodiscard]] std::size_t bundle_size(const std::byte* bundle);

}  // namespace octet::sim::hip
