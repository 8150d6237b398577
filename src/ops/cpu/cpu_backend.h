// The CPU backend: first-class device and oracle. Kernels are chosen once by instruction set; every kernel gives the
// same bits for any number of threads, and every one but the matrix product the same bits on any instruction set.
#pragma once

#include <memory>

#include "ops/backend.h"
#include "ops/cpu/cpu_isa.h"

namespace octet::ops {

/// `threads` 0 uses all cores. Asking for an instruction set above the machine's is a UserError.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(int threads = 0, CpuIsa isa = detect_cpu_isa());

}  // namespace octet::ops
