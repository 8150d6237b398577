// Tensor: a non-owning, contiguous view of at most two dimensions with its dtype. Kernels get raw pointers from it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "core/error.h"

namespace octet {

/// A row-major [rows, cols] view. Vectors are [1, cols]. `data` is null while a plan is being made.
class Tensor {
 public:
  Tensor() = default;
  Tensor(void* data, DType dtype, std::int64_t rows, std::int64_t cols)
      : data_(data), rows_(rows), cols_(cols), dtype_(dtype) {}

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t cols() const { return cols_; }
  [[nodiscard]] std::int64_t numel() const { return rows_ * cols_; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(numel()) * size_of(dtype_); }
  [[nodiscard]] void* raw() const { return data_; }

  /// The elements as T. Throws Failure where the tensor holds another dtype: FP8 formats are never reinterpreted.
  template <typename T>
  [[nodiscard]] T* ptr() const {
    if (dtype_ != kDType<T>) {
      throw Failure("a {} tensor [{}, {}] was used as {}", name(dtype_), rows_, cols_, name(kDType<T>));
    }
    return static_cast<T*>(data_);
  }

  /// Rows [begin, begin + count) as a view.
  [[nodiscard]] Tensor row_range(std::int64_t begin, std::int64_t count) const {
    check(begin >= 0 && count >= 0 && begin + count <= rows_, "a row range lies within its tensor");
    const auto offset = static_cast<std::size_t>(begin * cols_) * size_of(dtype_);
    return {data_ == nullptr ? nullptr : static_cast<std::byte*>(data_) + offset, dtype_, count, cols_};
  }

 private:
  void* data_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  DType dtype_ = DType::f32;
};

}  // namespace octet
