// One tile of a matrix product on the calling thread, by oneDNN. The only place that knows oneDNN.
//
// oneDNN multiplies bf16 tiles where the machine has avx512_bf16 or AMX, and fp32 tiles elsewhere (its bf16 there is
// slow or missing). Products of FP8 codes are exact in either.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "core/dtype.h"

namespace octet::ops::cpu {

/// D[m, n] = A[m, k] B[n, k]^T with element strides; `accumulate` adds to D. A and B are bf16 or f32, D is f32.
struct TileShape {
  std::int64_t m, n, k;
  std::int64_t a_stride;  // between rows of A; between columns where `a_transposed` (A is stored [k, m])
  std::int64_t b_stride;
  std::int64_t d_stride;
  bool a_transposed;
  bool b_transposed;  // B is stored [k, n]
  bool accumulate;

  auto operator<=>(const TileShape&) const = default;
};

/// Products of one shape. `run` may be called from several threads at once, each with scratch of its own.
class TileProduct {
 public:
  TileProduct(const TileShape& shape, DType operands);
  ~TileProduct();
  TileProduct(const TileProduct&) = delete;
  TileProduct& operator=(const TileProduct&) = delete;

  [[nodiscard]] std::size_t scratch_bytes() const;
  void run(const void* a, const void* b, float* d, std::byte* scratch) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The products made so far, by shape: making one takes about a millisecond, finding it again does not.
class TileProducts {
 public:
  /// bf16 where the machine multiplies it fast, else f32.
  [[nodiscard]] static DType fastest_operands();
  /// "oneDNN 2.6.3, bf16 (avx512_core_amx)".
  [[nodiscard]] static std::string description();

  explicit TileProducts(DType operands) : operands_(operands) {}

  [[nodiscard]] DType operands() const { return operands_; }
  [[nodiscard]] const TileProduct& find(const TileShape& shape);

 private:
  DType operands_;
  std::mutex mutex_;
  std::map<TileShape, std::unique_ptr<TileProduct>> products_;
};

}  // namespace octet::ops::cpu
