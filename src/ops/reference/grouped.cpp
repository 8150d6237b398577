// Groups one after another, each by the oracle of the dense op.
#include "ops/reference/grouped.h"

#include <algorithm>

#include "ops/reference/feed_forward.h"
#include "ops/reference/gemm.h"

namespace octet::ops::reference {
namespace {

/// Calls visit(group, first row, rows) for each group.
template <typename Visit>
void for_each_group(Offsets offsets, Visit visit) {
  for (Index e = 0; e + 1 < std::ssize(offsets); ++e) visit(e, Index{offsets[e]}, Index{offsets[e + 1] - offsets[e]});
}

void append(Vector& to, const Vector& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

Vector gather_rows(View x, ChoiceOfRow choice_of_row, Index top_k, Index dim) {
  Vector y;
  for (const std::int32_t choice : choice_of_row) {
    const View token = row(x, choice / top_k, dim);
    y.insert(y.end(), token.begin(), token.end());
  }
  return y;
}

Vector combine_rows(View routed, std::span<const std::int32_t> row_of_choice, View base, Index top_k, Index dim) {
  Vector out(std::ssize(row_of_choice) / top_k * dim);
  std::copy(base.begin(), base.end(), out.begin());
  for (Index choice = 0; choice < std::ssize(row_of_choice); ++choice) {
    add_scaled(row(out, choice / top_k, dim), 1, row(routed, row_of_choice[choice], dim));
  }
  return out;
}

Vector grouped_swiglu(View gate_up, View weights, ChoiceOfRow choice_of_row, Index dim) {
  Vector y = swiglu_forward(gate_up, std::ssize(choice_of_row), dim);
  for (Index i = 0; i < std::ssize(y); ++i) y[i] *= weights[choice_of_row[i / dim]];
  return y;
}

GroupedSwigluGradients grouped_swiglu_backward(View gate_up, View dy, View weights, ChoiceOfRow choice_of_row,
                                               Index dim) {
  const auto rows = std::ssize(choice_of_row);
  const Vector activated = swiglu_forward(gate_up, rows, dim);
  Vector weighted(dy.begin(), dy.end());
  GroupedSwigluGradients gradients{{}, Vector(weights.size())};
  for (Index r = 0; r < rows; ++r) {
    const double weight = weights[choice_of_row[r]];
    for (double& value : row(weighted, r, dim)) value *= weight;
    gradients.dweights[choice_of_row[r]] = dot(row(dy, r, dim), row(View(activated), r, dim));
  }
  gradients.dgate_up = swiglu_backward(gate_up, weighted, rows, dim);
  return gradients;
}

std::vector<bf16> group_column_maxima(std::span<const bf16> x, Offsets offsets, Index cols) {
  std::vector<bf16> maxima;
  for_each_group(offsets, [&](Index, Index first, Index rows) {
    const auto of_group = column_maxima(x.subspan(first * cols, rows * cols), rows, cols);
    maxima.insert(maxima.end(), of_group.begin(), of_group.end());
  });
  return maxima;
}

Codes cast_groups(std::span<const bf16> x, std::span<const bf16> maxima, Offsets offsets, Offsets padded_offsets,
                  Index cols, Index padded, fp8::ScaleRule rule, std::uint8_t beyond) {
  Codes all{std::vector<std::uint8_t>(cols * padded, beyond), {}};
  for_each_group(offsets, [&](Index e, Index first, Index rows) {
    const auto transposed = transpose(x.subspan(first * cols, rows * cols), rows, cols);
    const Codes of_group = cast_rows(transposed, maxima.subspan(e * cols, cols), cols, rows, rule);
    all.scale_inverse.insert(all.scale_inverse.end(), of_group.scale_inverse.begin(), of_group.scale_inverse.end());
    for (Index col = 0; col < cols; ++col) {
      const auto stretch = all.codes.begin() + col * padded;
      std::fill(stretch + padded_offsets[e], stretch + padded_offsets[e + 1], std::uint8_t{0});
      std::copy_n(of_group.codes.begin() + col * rows, rows, stretch + padded_offsets[e]);
    }
  });
  return all;
}

Vector grouped_gemm(View a, View b, Offsets offsets, Index n, Index k) {
  Vector d;
  for_each_group(offsets, [&](Index e, Index first, Index rows) {
    append(d, gemm(a.subspan(first * k, rows * k), b.subspan(e * n * k, n * k), rows, n, k));
  });
  return d;
}

Vector grouped_wgrad(View a, View b, Offsets offsets, Index m, Index n) {
  Vector d;
  for_each_group(offsets, [&](Index, Index first, Index rows) {
    append(d, gemm(transpose(a.subspan(first * m, rows * m), rows, m),
                   transpose(b.subspan(first * n, rows * n), rows, n), m, n, rows));
  });
  return d;
}

}  // namespace octet::ops::reference
