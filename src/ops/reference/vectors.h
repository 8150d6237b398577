// What the oracle computes with: plain vectors of doubles, row-major, and views of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/error.h"

namespace octet::ops::reference {

using Index = std::int64_t;
using Vector = std::vector<double>;
using View = std::span<const double>;

/// Row `index` of a matrix with `cols` columns.
[[nodiscard]] inline View row(View matrix, Index index, Index cols) {
  return matrix.subspan(index * cols, cols);
}
[[nodiscard]] inline std::span<double> row(Vector& matrix, Index index, Index cols) {
  return std::span<double>(matrix).subspan(index * cols, cols);
}

[[nodiscard]] inline double dot(View a, View b) {
  double sum = 0;
  for (Index i = 0; i < std::ssize(a); ++i) sum += a[i] * b[i];
  return sum;
}

/// sum += factor * x.
inline void add_scaled(std::span<double> sum, double factor, View x) {
  for (Index i = 0; i < std::ssize(x); ++i) sum[i] += factor * x[i];
}

[[nodiscard]] inline Vector sum_of(View a, View b) {
  Vector sum(a.begin(), a.end());
  add_scaled(sum, 1, b);
  return sum;
}

}  // namespace octet::ops::reference
