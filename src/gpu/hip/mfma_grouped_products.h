// Products of groups by Octet's own kernels on CDNA's matrix units.
#pragma once

#include <memory>

#include "gpu/driver.h"
#include "gpu/grouped_products.h"

namespace octet::gpu {

/// `driver` is a HIP one and outlives what is returned.
[[nodiscard]] std::unique_ptr<GroupedProducts> open_mfma_grouped_products(Driver& driver);

}  // namespace octet::gpu
