// The instruction sets that the CPU kernels are compiled for.
#pragma once

#include <cstdint>
#include <string_view>

namespace octet::ops {

/// x86-64 levels that kernels are compiled for. On other machines only `baseline` exists.
enum class CpuIsa : std::uint8_t { baseline, avx2, avx512 };
[[nodiscard]] std::string_view name(CpuIsa isa);
/// The best level that this machine runs.
[[nodiscard]] CpuIsa detect_cpu_isa();

}  // namespace octet::ops
