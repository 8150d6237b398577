// The CPU backend: first-class device and oracle. Kernels are chosen once by instruction set; every kernel gives the
// same bits for any number of threads, and every one but the matrix product the same bits on any instruction set.
#pragma once

#include <memory>
#include <string_view>

#include "ops/backend.h"

namespace octet::ops {

/// x86-64 levels that kernels are compiled for. On other machines only `baseline` exists.
enum class CpuIsa : std::uint8_t { baseline, avx2, avx512 };
[[nodiscard]] std::string_view name(CpuIsa isa);
/// The best level that this machine runs.
[[nodiscard]] CpuIsa detect_cpu_isa();

/// `threads` 0 uses all cores. Asking for an instruction set above the machine's is a UserError.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(int threads = 0, CpuIsa isa = detect_cpu_isa());

}  // namespace octet::ops
