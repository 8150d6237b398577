// What is said of a device that failed: in which op, and how to find out where there may have been another.
#pragma once

#include <string>

#include "core/error.h"
#include "ops/executor.h"

namespace octet {

/// "the GPU failed at ...: CUDA_ERROR_..., in Gemm of layers.3". Where ops run behind the host, the fault may lie in an
/// op before the one in which it came to light: the text says so, and how to name it.
[[nodiscard]] std::string describe_fault(const DeviceFault& fault, const ops::Executor& run);

}  // namespace octet
