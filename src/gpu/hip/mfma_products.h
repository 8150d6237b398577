// Products by Octet's own kernels on AMD's matrix units.
#pragma once

#include <memory>
#include <string>

#include "gpu/driver.h"
#include "gpu/hip/mfma_tiles.h"
#include "gpu/products.h"

namespace octet::gpu {

/// `driver` is a HIP one and outlives what is returned.
[[nodiscard]] std::unique_ptr<Products> open_mfma_products(Driver& driver);

/// "multiply_256x128_e4m3_e5m2": the kernel for a product's operands, whatever their format family.
[[nodiscard]] std::string mfma_kernel(const Product& product, const MfmaTile& tile);

/// Puts the product on the driver's stream with a tile of choice, which is one of kMfmaTiles; `open_mfma_products`
/// takes the table's.
void launch_mfma_product(Driver& driver, const Product& product, const MfmaTile& tile);

}  // namespace octet::gpu
