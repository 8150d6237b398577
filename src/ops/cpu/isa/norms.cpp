// Embedding and RMSNorm, forward and backward.
#include "ops/cpu/isa/kernels.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

/// x' = x + delta, rounded to bf16 and written to `sum`; returns the sum of x'^2.
[[gnu::always_inline]] inline F32 add_and_square(const bf16* x, const bf16* delta, bf16* sum, Index dim) {
  F32 squares{};
  for (Index i = 0; i < dim; i += kLanes) {
    store(sum + i, load(x + i, dim - i) + load(delta + i, dim - i), dim - i);
    const F32 rounded = load(sum + i, dim - i);
    squares = squares + rounded * rounded;
  }
  return squares;
}

[[gnu::always_inline]] inline F32 square(const bf16* x, Index dim) {
  F32 squares{};
  for (Index i = 0; i < dim; i += kLanes) {
    const F32 value = load(x + i, dim - i);
    squares = squares + value * value;
  }
  return squares;
}

/// Columns [begin, end) of to += those of the `count` rows of dy, one after the other.
template <typename T>
[[gnu::always_inline]] inline void add_rows(T* to, const EmbeddingBackward& op, const std::int32_t* rows, Index count,
                                            Index begin, Index end) {
  for (Index i = begin; i < end; i += kLanes) {
    F32 sum = load(to + i, end - i);
    for (Index k = 0; k < count; ++k) sum = sum + load(op.dy + rows[k] * op.dim + i, end - i);
    store(to + i, sum, end - i);
  }
}

}  // namespace

void embedding_forward(const EmbeddingForward& op, Index begin, Index end) {
  if (op.dim == 0) return;  // there may be no table to point to
  for (Index row = begin; row < end; ++row) {
    __builtin_memcpy(op.out + row * op.dim, op.table + op.tokens[row] * op.dim,
                     static_cast<std::size_t>(op.dim) * sizeof(bf16));
  }
}

void embedding_backward(const EmbeddingBackward& op, const std::int32_t* order, Index begin, Index end) {
  for (Index first = 0, last = 0; first < op.rows; first = last) {
    const std::int32_t token = op.tokens[order[first]];
    while (last < op.rows && op.tokens[order[last]] == token) ++last;
    const Index row = token * op.dim;
    if (op.dtype == DType::bf16) {
      add_rows(static_cast<bf16*>(op.dtable) + row, op, order + first, last - first, begin, end);
    } else {
      add_rows(static_cast<float*>(op.dtable) + row, op, order + first, last - first, begin, end);
    }
  }
}

void rmsnorm_forward(const RmsNormForward& op, Index begin, Index end, std::uint16_t* column_maxima, bf16* unstored) {
  const Index dim = op.dim;
  const Index stride = op.x_stride == 0 ? dim : op.x_stride;
  for (Index row = begin; row < end; ++row) {
    const bf16* x = op.x + row * stride;
    bf16* y = op.stored ? op.y + row * dim : unstored;
    F32 squares;
    if (op.has_delta) {
      bf16* x_out = op.x_out + row * dim;
      squares = add_and_square(x, op.delta + row * dim, x_out, dim);
      x = x_out;
    } else {
      squares = square(x, dim);
    }
    const float rstd = 1.0F / __builtin_sqrtf(sum(squares) / static_cast<float>(dim) + op.eps);
    op.rstd[row] = rstd;
    for (Index i = 0; i < dim; i += kLanes) {
      store(y + i, load(x + i, dim - i) * rstd * load(op.weight + i, dim - i), dim - i);
    }
    if (op.codes.codes != nullptr) cast_row(y, dim, op.codes, row);
    if (column_maxima != nullptr) fold_columns(y, dim, column_maxima);
  }
}

void rmsnorm_backward(const RmsNormBackward& op, Index begin, Index end, float* partial, std::uint16_t* column_maxima) {
  const Index dim = op.dim;
  const Index stride = op.x_stride == 0 ? dim : op.x_stride;
  for (Index row = begin; row < end; ++row) {
    const bf16* x = op.x + row * stride;
    const bf16* dy = op.dy + row * dim;
    const float rstd = op.rstd[row];
    F32 products{};
    for (Index i = 0; i < dim; i += kLanes) {
      const F32 dy_xhat = load(dy + i, dim - i) * (load(x + i, dim - i) * rstd);
      store(partial + i, load(partial + i, dim - i) + dy_xhat, dim - i);
      products = products + dy_xhat * load(op.weight + i, dim - i);
    }
    const float mean = sum(products) / static_cast<float>(dim);
    bf16* dx = op.dx + row * stride;
    for (Index i = 0; i < dim; i += kLanes) {
      const F32 xhat = load(x + i, dim - i) * rstd;
      const F32 through_norm = (load(dy + i, dim - i) * load(op.weight + i, dim - i) - xhat * mean) * rstd;
      const F32 around_norm = op.has_residual ? load(op.residual + row * dim + i, dim - i) : F32{};
      store(dx + i, around_norm + through_norm, dim - i);
    }
    if (op.codes.codes != nullptr) cast_row(dx, dim, op.codes, row);
    if (column_maxima != nullptr) fold_columns(dx, dim, column_maxima);
  }
}

void column_sums(const float* partials, Index count, Index cols, float* sums, Index begin, Index end) {
  for (Index i = begin; i < end; i += kLanes) {
    F32 total{};
    for (Index part = 0; part < count; ++part) total = total + load(partials + part * cols + i, end - i);
    store(sums + i, load(sums + i, end - i) + total, end - i);
  }
}

}  // namespace octet::ops::cpu::OCTET_ISA
