// cuBLASLt, found when the program runs.
#pragma once

#include <memory>

#include "gpu/products.h"
#include "gpu/vendor_library.h"

namespace octet::gpu {

/// UserError where no usable libcublasLt is found; the message names the package that brings it.
[[nodiscard]] std::unique_ptr<Products> open_cublaslt(Driver& driver);
/// What open_cublaslt would find.
[[nodiscard]] VendorLibrary survey_cublaslt();

}  // namespace octet::gpu
