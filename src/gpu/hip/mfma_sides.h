// A side of a product as the MFMA kernels are told of it.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/arguments.h"

namespace octet::gpu {

/// Whether rows of `pitch` elements begin at multiples of 16 bytes.
[[nodiscard]] inline bool mfma_aligned(const void* data, std::int64_t pitch, DType dtype) {
  const std::int64_t row_bytes = pitch * static_cast<std::int64_t>(size_of(dtype));
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && row_bytes % 16 == 0;
}

/// `side` with what follows from the rest.
[[nodiscard]] inline kernels::ProductSide mfma_side(kernels::ProductSide side, DType dtype) {
  side.aligned = mfma_aligned(side.data, side.pitch, dtype);
  return side;
}

/// Tiles that `results` take.
[[nodiscard]] inline unsigned mfma_blocks(std::int64_t results, std::int64_t tile) {
  return static_cast<unsigned>((results + tile - 1) / tile);
}

}  // namespace octet::gpu
