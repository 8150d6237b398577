// A product is one dot product per element; the gradients of a linear layer are two more products.
#include "ops/reference/gemm.h"

#include "ops/reference/casts.h"

namespace octet::ops::reference {

Vector gemm(View a, View b, Index m, Index n, Index k) {
  Vector d(m * n);
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) d[i * n + j] = dot(row(a, i, k), row(b, j, k));
  }
  return d;
}

LinearGradients linear_backward(View dy, View x, View weight, Index rows, Index in, Index out) {
  const Vector weight_t = transpose(weight, out, in);
  const Vector dy_t = transpose(dy, rows, out);
  const Vector x_t = transpose(x, rows, in);
  return {gemm(dy, weight_t, rows, in, out), gemm(dy_t, x_t, out, in, rows)};
}

}  // namespace octet::ops::reference
