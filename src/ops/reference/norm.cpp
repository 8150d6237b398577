// RMSNorm as its definition reads, row by row.
#include "ops/reference/norm.h"

#include <cmath>

namespace octet::ops::reference {

RmsNorm rmsnorm_forward(View x, View weight, Index rows, Index dim, double eps) {
  RmsNorm result{Vector(rows * dim), Vector(rows)};
  for (Index r = 0; r < rows; ++r) {
    const View in = row(x, r, dim);
    const double mean_square = dot(in, in) / static_cast<double>(dim);
    const double rstd = 1 / std::sqrt(mean_square + eps);
    result.rstd[r] = rstd;
    for (Index i = 0; i < dim; ++i) result.y[r * dim + i] = in[i] * rstd * weight[i];
  }
  return result;
}

RmsNormGradients rmsnorm_backward(View dy, View x, View weight, View rstd, Index rows, Index dim) {
  RmsNormGradients result{Vector(rows * dim), Vector(dim)};
  for (Index r = 0; r < rows; ++r) {
    const auto xhat = [&](Index i) { return x[r * dim + i] * rstd[r]; };
    const auto dxhat = [&](Index i) { return dy[r * dim + i] * weight[i]; };
    double mean = 0;
    for (Index i = 0; i < dim; ++i) mean += dxhat(i) * xhat(i) / static_cast<double>(dim);
    for (Index i = 0; i < dim; ++i) {
      result.dx[r * dim + i] = rstd[r] * (dxhat(i) - xhat(i) * mean);
      result.dweight[i] += dy[r * dim + i] * xhat(i);
    }
  }
  return result;
}

}  // namespace octet::ops::reference
