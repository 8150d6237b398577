// The GPU's op table, of whatever vendor.
#pragma once

#include "fp8/format_family.h"
#include "ops/backend.h"

namespace octet::ops::gpu {

/// Of a device that multiplies the formats of `family`: codes of the other are refused.
[[nodiscard]] OpTable gpu_table(fp8::FormatFamily family);

}  // namespace octet::ops::gpu
