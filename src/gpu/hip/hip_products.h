// Matrix products on AMD's GPUs: Octet's own MFMA kernels, or hipBLASLt where a table or the user says so.
#pragma once

#include <memory>
#include <span>

#include "gpu/driver.h"
#include "gpu/hip/hipblaslt_choices.h"
#include "gpu/products.h"

namespace octet::gpu {

enum class HipProductsChoice {
  automatic,  ///< hipBLASLt for the products of the table, where it is found; own kernels for all others
  own,
  hipblaslt,  ///< for all; a missing library is an error
};

/// `driver` is a HIP one and outlives what is returned, as `table` does. UserError where hipBLASLt is asked for and
/// there is none of use.
[[nodiscard]] std::unique_ptr<Products> open_hip_products(Driver& driver, HipProductsChoice choice,
                                                          std::span<const HipblasltChoice> table = kHipblasltChoices);

}  // namespace octet::gpu
