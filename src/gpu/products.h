// Matrix products of a vendor's library behind one narrow interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "fp8/recipe.h"

namespace octet::gpu {

class Driver;

/// One side, seen as [outer, k]; a bf16 one may lie transposed, as [k, outer].
struct ProductOperand {
  const void* data = nullptr;
  const float* scale_inverse = nullptr;  ///< of codes: [1] or [outer], as `axis` says
  DType dtype = DType::bf16;
  fp8::ScaleAxis axis = fp8::ScaleAxis::none;
  bool transposed = false;
};

/// D[m, n] = A[m, k] B[n, k]^T, or D += with `accumulate`. Codes of both sides have the same scale axis.
struct Product {
  ProductOperand a, b;
  void* d = nullptr;
  DType d_dtype = DType::bf16;  ///< or f32
  std::int64_t m = 0, n = 0, k = 0;
  bool accumulate = false;
  fp8::Accumulation accumulation = fp8::Accumulation::full;
};

/// What a tuning found out about a product.
struct TunedProduct {
  std::string product;           ///< "[8192, 4096] over 4096, bf16 x bf16 -> f32, added to"
  std::string choice;            ///< as the committed table holds it; empty where the library's first proposal stays
  double first_seconds = 0;      ///< of the first proposal; on AMD of our own kernel
  double seconds = 0;            ///< of the fastest
  double query_seconds = 0;      ///< that the host took to ask for proposals
  double first_run_seconds = 0;  ///< that the host took to put the product on the stream for the first time
};

class Products {
 public:
  Products() = default;
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  virtual ~Products() = default;

  /// Scratch bytes that any product may use.
  [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;
  /// Puts the product on the driver's stream. Throws Failure, with the shape, where the library has no way to compute
  /// it.
  virtual void run(const Product& product, void* workspace) = 0;
  /// "cuBLASLt 13.1.0, /usr/.../libcublasLt.so.13"
  [[nodiscard]] virtual std::string description() const = 0;
  /// Times every way that the library proposes for each product that has been run, on its last operands, and uses the
  /// fastest from here on where it gains what is worth a line of the committed table. Overwrites results.
  [[nodiscard]] virtual std::vector<TunedProduct> tune() = 0;
  /// Products that have been run by the first of the library's several proposals because no table says which is the
  /// fastest, as TunedProduct names them.
  [[nodiscard]] virtual std::vector<std::string> untuned() const = 0;
};

}  // namespace octet::gpu
