// The values of stored weights: fp32, bf16, fp16, and e4m3 codes with an inverse scale for each block of 128 x 128.
#pragma once

#include <cstdint>
#include <span>

#include "io/safetensors.h"

namespace octet {

/// Rows and columns that share an inverse scale.
inline constexpr std::uint64_t fp8_block = 128;

struct StoredValues {
  const FileTensor* tensor = nullptr;          ///< F32, BF16, F16, or F8_E4M3 [n, k]
  const FileTensor* inverse_scales = nullptr;  ///< of F8_E4M3 only: F32 [ceil(n / 128), ceil(k / 128)]
};

/// Elements `first` and following, exactly; a value of F8_E4M3 is the product, in fp32, of its code and the inverse
/// scale of its block.
void read_values(const StoredValues& stored, std::uint64_t first, std::span<float> to);

/// Exact; every NaN becomes a quiet one.
[[nodiscard]] float half_to_float(std::uint16_t bits);

}  // namespace octet
