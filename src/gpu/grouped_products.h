// Matrix products of groups whose sizes only the device knows, behind one narrow interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/dtype.h"
#include "fp8/recipe.h"

namespace octet::gpu {

class Driver;

/// One side: codes with a scale for each row, or bf16, which may lie transposed.
struct GroupedOperand {
  const void* data = nullptr;
  const float* scale_inverse = nullptr;
  DType dtype = DType::bf16;
  bool transposed = false;
};

/// D = A B^T of each of `groups` groups, all in one launch. Group e has
/// - rows [offsets[e], offsets[e + 1]) of A [rows, k] and of D [rows, n], and a matrix of B [groups, n, k] for itself;
///   a bf16 B may be [groups, k, n]; or,
/// - with `by_contraction`, the stretch [offsets[e], offsets[e + 1]) of the contraction of A [m, rows] and B [n, rows],
///   and a matrix of D [groups, m, n] for itself. Codes fill the last 128 of a stretch up with zeros; bf16 sides are
///   [rows, m] and [rows, n], in stretches of any length.
struct GroupedProduct {
  GroupedOperand a, b;
  void* d = nullptr;
  DType d_dtype = DType::bf16;  ///< or f32, by contraction
  const std::int32_t* offsets = nullptr;
  std::int64_t groups = 0, rows = 0;
  std::int64_t m = 0, n = 0, k = 0;  ///< m by contraction only, k otherwise; multiples of 16
  bool by_contraction = false;
  bool accumulate = false;
  fp8::Accumulation accumulation = fp8::Accumulation::full;
};

class GroupedProducts {
 public:
  GroupedProducts() = default;
  GroupedProducts(const GroupedProducts&) = delete;
  GroupedProducts& operator=(const GroupedProducts&) = delete;
  virtual ~GroupedProducts() = default;

  /// Scratch bytes that a product of so many groups may use, at a multiple of 256.
  [[nodiscard]] virtual std::size_t workspace_bytes(std::int64_t groups) const = 0;
  /// Puts the product on the driver's stream. Throws Failure, with the reason, where a library refuses it.
  virtual void run(const GroupedProduct& product, void* workspace) = 0;
  /// What computes them: "own MFMA kernels".
  [[nodiscard]] virtual std::string description() const = 0;
};

}  // namespace octet::gpu
