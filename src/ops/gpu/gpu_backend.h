// The GPU backends.
#pragma once

#include <memory>

#include "ops/backend.h"

namespace octet::ops {

/// One NVIDIA GPU. UserError where none can be used; the message says why and what to do.
[[nodiscard]] std::unique_ptr<Backend> make_cuda_backend(int device);

}  // namespace octet::ops
