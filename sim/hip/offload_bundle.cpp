#include "sim/hip/offload_bundle.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "sim/elf/bytes.h"

namespace octet::sim::hip {
namespace {

/// "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+" -> "gfx942".
std::string processor_of(std::string_view target) {
  const std::size_t dashes = target.rfind("--");
  if (!target.starts_with("hip") || dashes == std::string_view::npos) return "";
  const std::string_view name = target.substr(dashes + 2);
  return std::string(name.substr(0, name.find(':')));
}

/// Visits offset, size and target of each entry.
template <typename Visitor>
void for_each_entry(const Bytes& bundle, const Visitor& visit) {
  const char* what = "the bundle's header";
  std::uint64_t at = kBundleMagic.size();
  const auto count = bundle.field<std::uint64_t>(at, what);
  at += sizeof(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto offset = bundle.field<std::uint64_t>(at, what);
    const auto size = bundle.field<std::uint64_t>(at + 8, what);
    const auto target_size = bundle.field<std::uint64_t>(at + 16, what);
    const std::span<const std::byte> target = bundle.range(at + 24, target_size, what);
    visit(offset, size, std::string_view(reinterpret_cast<const char*>(target.data()), target.size()));
    at += 24 + target_size;
  }
}

}  // namespace

bool is_bundle(std::span<const std::byte> image) {
  return image.size() >= kBundleMagic.size() &&
         std::memcmp(image.data(), kBundleMagic.data(), kBundleMagic.size()) == 0;
}

std::vector<BundleEntry> bundle_entries(std::span<const std::byte> bundle) {
  const Bytes bytes(bundle, "bundle");
  std::vector<BundleEntry> entries;
  for_each_entry(bytes, [&](std::uint64_t offset, std::uint64_t size, std::string_view target) {
    entries.push_back({processor_of(target), bytes.range(offset, size, "a bundle's entry")});
  });
  return entries;
}

std::size_t bundle_size(const std::byte* bundle) {
  constexpr std::size_t kLongestHeader = 4096;
  std::uint64_t end = 0;
  for_each_entry(Bytes({bundle, kLongestHeader}, "bundle"),
                 [&](std::uint64_t offset, std::uint64_t size, std::string_view /*target*/) {
                   end = std::max(end, offset + size);
                 });
  return end;
}

}  // namespace octet::sim::hip
