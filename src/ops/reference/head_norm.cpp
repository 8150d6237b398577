// Each head is a row of RMSNorm's definition.
#include "ops/reference/head_norm.h"

#include <algorithm>

#include "ops/reference/norm.h"

namespace octet::ops::reference {
namespace {

/// Calls work(first element of the head, row of its weights) for every head that is normed.
template <typename Work>
void for_each_normed_head(const HeadNormShape& shape, Work work) {
  for (Index r = 0; r < shape.rows; ++r) {
    for (Index head = 0; head < shape.normed_heads(); ++head) {
      work(r * shape.cols() + head * shape.head_dim, head < shape.heads ? 0 : 1);
    }
  }
}

}  // namespace

Vector head_norm_forward(View x, View weights, const HeadNormShape& shape, double eps) {
  const Index dim = shape.head_dim;
  Vector y(x.begin(), x.end());
  for_each_normed_head(shape, [&](Index first, Index side) {
    const RmsNorm norm = rmsnorm_forward(x.subspan(first, dim), row(weights, side, dim), 1, dim, eps);
    std::ranges::copy(norm.y, y.begin() + first);
  });
  return y;
}

HeadNormGradients head_norm_backward(View dy, View x, View weights, const HeadNormShape& shape, double eps) {
  const Index dim = shape.head_dim;
  HeadNormGradients result{Vector(dy.begin(), dy.end()), Vector(2 * dim)};
  for_each_normed_head(shape, [&](Index first, Index side) {
    const View head = x.subspan(first, dim);
    const View weight = row(weights, side, dim);
    const RmsNorm norm = rmsnorm_forward(head, weight, 1, dim, eps);
    const RmsNormGradients gradients = rmsnorm_backward(dy.subspan(first, dim), head, weight, norm.rstd, 1, dim);
    std::ranges::copy(gradients.dx, result.dx.begin() + first);
    add_scaled(row(result.dweights, side, dim), 1, gradients.dweight);
  });
  return result;
}

}  // namespace octet::ops::reference
