// How many workgroups of a kernel a compute unit holds at a time, and what of it runs out first.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "sim/elf/code_object.h"

namespace octet::sim {

/// What a compute unit has, of which each workgroup takes its share.
enum class Resource : std::uint8_t { waves, vgprs, sgprs, lds };

/// The name that reports use: "vgprs".
[[nodiscard]] std::string_view name(Resource resource);

/// Of a compute unit: four SIMDs, each with places for 8 waves, 512 vector registers a lane (VGPRs and AGPRs together)
/// and 800 scalar ones; 64 KiB of LDS on CDNA3, 160 KiB on CDNA4.
struct Occupancy {
  std::uint32_t waves_per_workgroup = 0;
  std::map<Resource, std::uint32_t> workgroups_by;  ///< that it would hold if the others were plentiful; LDS if used
  std::uint32_t workgroups_per_cu = 0;              ///< the least of these; 0: the kernel does not fit
  std::uint32_t waves_per_cu = 0;                   ///< at most 32
  Resource limited_by = Resource::waves;            ///< which of them is the least; waves where nothing else limits
};

/// Of workgroups of so many lanes. How the resources are given out is as in LLVM (vector registers by 8, LDS by 512
/// bytes, on CDNA4 by 1280) and in HIP's occupancy functions (scalar registers by 16).
[[nodiscard]] Occupancy occupancy(const Kernel& kernel, Generation generation, std::uint32_t lanes,
                                  std::uint32_t dynamic_lds_bytes = 0);

}  // namespace octet::sim
