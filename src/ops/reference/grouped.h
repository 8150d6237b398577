// What the experts do with their routed rows, in double precision. Group e is rows [offsets[e], offsets[e + 1]); rows
// from the last offset on belong to nobody. Shapes as in ops/moe_ops.h.
#pragma once

#include "ops/reference/casts.h"

namespace octet::ops::reference {

using Offsets = std::span<const std::int32_t>;      // [groups + 1]
using ChoiceOfRow = std::span<const std::int32_t>;  // [rows]: token * top_k + k

/// y [rows, dim]: row r is row choice_of_row[r] / top_k of x [tokens, dim].
[[nodiscard]] Vector gather_rows(View x, ChoiceOfRow choice_of_row, Index top_k, Index dim);

/// out [tokens, dim] = base + the rows of each token, row_of_choice [tokens, top_k]. An empty base stands for zeros.
[[nodiscard]] Vector combine_rows(View routed, std::span<const std::int32_t> row_of_choice, View base, Index top_k,
                                  Index dim);

/// y [rows, dim] = weight * silu(gate) * up, with the weight of each row's choice among `weights`.
[[nodiscard]] Vector grouped_swiglu(View gate_up, View weights, ChoiceOfRow choice_of_row, Index dim);

struct GroupedSwigluGradients {
  Vector dgate_up;  // [rows, 2 dim]
  Vector dweights;  // as `weights`; zero for a choice without a row
};
[[nodiscard]] GroupedSwigluGradients grouped_swiglu_backward(View gate_up, View dy, View weights,
                                                             ChoiceOfRow choice_of_row, Index dim);

/// The amax of each column of each group of x [rows, cols]: [groups, cols], zero for an empty group.
[[nodiscard]] std::vector<bf16> group_column_maxima(std::span<const bf16> x, Offsets offsets, Index cols);

/// Transposed codes [cols, padded] of x [rows, cols], each group's at its padded offset and followed by zeros to the
/// next, under scales of maxima [groups, cols]. Codes from the last padded offset on are `beyond`.
[[nodiscard]] Codes cast_groups(std::span<const bf16> x, std::span<const bf16> maxima, Offsets offsets,
                                Offsets padded_offsets, Index cols, Index padded, fp8::ScaleRule rule,
                                std::uint8_t beyond);

/// d [last offset, n] = a_e b_e^T: a [rows, k], b [groups, n, k].
[[nodiscard]] Vector grouped_gemm(View a, View b, Offsets offsets, Index n, Index k);

/// d [groups, m, n] = a_e^T b_e, sums over the rows of a group: a [rows, m], b [rows, n].
[[nodiscard]] Vector grouped_wgrad(View a, View b, Offsets offsets, Index m, Index n);

}  // namespace octet::ops::reference
