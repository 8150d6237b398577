// cuBLASLt, found when the program runs.
#pragma once

#include <memory>

#include "gpu/products.h"

namespace octet::gpu {

/// UserError where no usable libcublasLt is found; the message names the package that brings it.
[[nodiscard]] std::unique_ptr<Products> open_cublaslt(Driver& driver);

}  // namespace octet::gpu
