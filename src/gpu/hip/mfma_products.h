// Products by Octet's own kernels on AMD's matrix units.
#pragma once

#include <memory>

#include "gpu/driver.h"
#include "gpu/products.h"

namespace octet::gpu {

/// `driver` is a HIP one and outlives what is returned.
[[nodiscard]] std::unique_ptr<Products> open_mfma_products(Driver& driver);

}  // namespace octet::gpu
