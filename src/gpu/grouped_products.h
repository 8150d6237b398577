// Matrix products of groups of rows, as a mixture of experts needs them, by a library behind one narrow interface.
//
// Offsets lie on the device, so that no size of a group is known to the host: groups of any size, none and all rows in
// one included, take one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "fp8/recipe.h"

namespace octet::gpu {

/// One side; both of a product have the same scale axis, and either bf16 or FP8.
struct GroupedOperand {
  const void* data = nullptr;
  const float* scale_inverse = nullptr;  ///< of codes, f32; how many there are, the product says
  DType dtype = DType::bf16;
};

/// D[r, n] = A[r, k] B[g][n, k]^T for the rows r of each group g, offsets[g] <= r < offsets[g + 1]. Forward is that
/// with B an expert's weights, dgrad with B their transposed codes; rows of no group keep what D held.
struct RowsGroupedProduct {
  GroupedOperand a;                            ///< [rows, k]; scales [rows], or [1]
  GroupedOperand b;                            ///< [groups, n, k]; scales [groups, n], or [1]
  bool b_transposed = false;                   ///< bf16 alone: B lies as [groups, k, n]
  fp8::ScaleAxis axis = fp8::ScaleAxis::none;  ///< of both sides' codes
  void* d = nullptr;                           ///< [rows, n]
  DType d_dtype = DType::bf16;
  const std::int32_t* offsets = nullptr;  ///< [groups + 1], on the device, from 0, none less than that before it
  std::int64_t rows = 0;                  ///< at most that many lie in groups
  std::int64_t n = 0, k = 0;
  std::int32_t groups = 0;
};

/// D[g][n, k] = A[n, c] B[k, c]^T over the columns c of each group g, offsets[g] <= c < offsets[g + 1]; D of a group
/// without columns is zero. wgrad is that, with A codes of dY and B codes of X, both stored transposed; columns that
/// fill a group up to a multiple of the tile are zero on both sides.
struct ColumnsGroupedProduct {
  GroupedOperand a;                            ///< [n, columns]; scales [groups, n], or [1]
  GroupedOperand b;                            ///< [k, columns]; scales [groups, k], or [1]
  bool transposed = false;                     ///< bf16 alone: A and B lie as [columns, n] and [columns, k]
  fp8::ScaleAxis axis = fp8::ScaleAxis::none;  ///< of both sides' codes
  void* d = nullptr;                           ///< [groups, n, k]
  DType d_dtype = DType::f32;                  ///< or bf16
  const std::int32_t* offsets = nullptr;       ///< [groups + 1], on the device; FP8 wants multiples of 16
  std::int64_t columns = 0;                    ///< of A and B as they lie
  std::int64_t n = 0, k = 0;
  std::int32_t groups = 0;
};

/// Work goes to the driver's stream, captured or not. Each product throws Failure, with the library's reason, where the
/// library refuses it or fails.
class GroupedProducts {
 public:
  GroupedProducts() = default;
  GroupedProducts(const GroupedProducts&) = delete;
  GroupedProducts& operator=(const GroupedProducts&) = delete;
  virtual ~GroupedProducts() = default;

  /// Scratch bytes, at a multiple of 256, that a product of so many groups uses.
  [[nodiscard]] virtual std::size_t workspace_bytes(std::int32_t groups) const = 0;
  virtual void forward(const RowsGroupedProduct& product, void* workspace) = 0;
  virtual void dgrad(const RowsGroupedProduct& product, void* workspace) = 0;
  virtual void wgrad(const ColumnsGroupedProduct& product, void* workspace) = 0;
  /// What computes them, and from which file.
  [[nodiscard]] virtual std::string description() const = 0;
};

}  // namespace octet::gpu
