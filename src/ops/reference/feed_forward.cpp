// SwiGLU element by element, with silu(g) = g * sigmoid(g) and silu'(g) = sigmoid(g) * (1 + g * (1 - sigmoid(g))).
#include "ops/reference/feed_forward.h"

#include <cmath>

namespace octet::ops::reference {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

Vector swiglu_forward(View gate_up, Index rows, Index dim) {
  Vector y(rows * dim);
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < dim; ++i) {
      const double gate = gate_up[r * 2 * dim + i];
      const double up = gate_up[r * 2 * dim + dim + i];
      y[r * dim + i] = gate * sigmoid(gate) * up;
    }
  }
  return y;
}

Vector swiglu_backward(View gate_up, View dy, Index rows, Index dim) {
  Vector dgate_up(rows * 2 * dim);
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < dim; ++i) {
      const double gate = gate_up[r * 2 * dim + i];
      const double up = gate_up[r * 2 * dim + dim + i];
      const double s = sigmoid(gate);
      dgate_up[r * 2 * dim + i] = dy[r * dim + i] * up * s * (1 + gate * (1 - s));
      dgate_up[r * 2 * dim + dim + i] = dy[r * dim + i] * gate * s;
    }
  }
  return dgate_up;
}

}  // namespace octet::ops::reference
