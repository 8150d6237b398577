// Sizes and granules: LLVM's AMDGPU back end (AMDGPUBaseInfo, IsaInfo) for gfx942 and gfx950; ROCm's clr,
// hipOccupancyMaxActiveBlocksPerMultiprocessor.
#include "sim/counters/occupancy.h"

#include <algorithm>

namespace octet::sim {
namespace {

constexpr std::uint32_t kSimds = 4;
constexpr std::uint32_t kWavesPerSimd = 8;
constexpr std::uint32_t kVgprs = 512;
constexpr std::uint32_t kVgprGranule = 8;
constexpr std::uint32_t kSgprs = 800;
constexpr std::uint32_t kSgprGranule = 16;

constexpr std::uint32_t lds_granule(Generation generation) {
  return generation == Generation::cdna3 ? 512 : 1280;
}

/// How many times `taken`, rounded up to the granule, there is in `size`.
constexpr std::uint32_t times(std::uint32_t size, std::uint32_t taken, std::uint32_t granule) {
  return size / ((std::max(taken, 1U) + granule - 1) / granule * granule);
}

}  // namespace

std::string_view name(Resource resource) {
  switch (resource) {
    case Resource::waves:
      return "waves";
    case Resource::vgprs:
      return "vgprs";
    case Resource::sgprs:
      return "sgprs";
    case Resource::lds:
      return "lds";
  }
  return "";
}

Occupancy occupancy(const Kernel& kernel, Generation generation, std::uint32_t lanes, std::uint32_t dynamic_lds_bytes) {
  Occupancy found;
  found.waves_per_workgroup = (lanes + 63) / 64;
  const auto workgroups = [&](std::uint32_t waves_per_simd) {
    return kSimds * waves_per_simd / found.waves_per_workgroup;
  };
  found.workgroups_by[Resource::waves] = workgroups(kWavesPerSimd);
  found.workgroups_by[Resource::vgprs] = workgroups(times(kVgprs, kernel.vgprs, kVgprGranule));
  found.workgroups_by[Resource::sgprs] = workgroups(times(kSgprs, kernel.sgprs, kSgprGranule));
  const std::uint32_t lds_taken = kernel.lds_bytes + dynamic_lds_bytes;
  if (lds_taken > 0) {
    found.workgroups_by[Resource::lds] = times(lds_bytes(generation), lds_taken, lds_granule(generation));
  }
  const auto least = std::min_element(found.workgroups_by.begin(), found.workgroups_by.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  found.limited_by = least->first;
  found.workgroups_per_cu = least->second;
  found.waves_per_cu = found.workgroups_per_cu * found.waves_per_workgroup;
  return found;
}

}  // namespace octet::sim
