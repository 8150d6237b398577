// The GPU's op table, of whatever vendor.
#pragma once

#include "fp8/format_family.h"
#include "ops/backend.h"

namespace octet::ops::gpu {

/// Of a device that multiplies the formats of `family`: codes of the other are refused.
[[nodiscard]] OpTable gpu_table(fp8::FormatFamily family);

/// Of one that has kernels for products of groups: adds those, in OCP formats.
void add_grouped_products(OpTable& table);

}  // namespace octet::ops::gpu
