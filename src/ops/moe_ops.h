// The ops of a mixture of experts: routing, the permutation of tokens, grouped casts and grouped matrix products.
//
// Words and shapes: T tokens, D model dim, E experts, K experts chosen by each token, F an expert's feed-forward dim.
// Each token takes K routed rows; those of an expert are a group and lie together: group e is the routed rows
// [offsets[e], offsets[e + 1]), in the order of their tokens. M routed rows are room for; those from offsets[E] on are
// neither read nor written. Offsets live on the device and no op waits for the host to know them.
//
// Codes for a product that contracts a group's rows are transposed, and each group's stretch of the contraction is
// filled up with zeros to a multiple of kGroupTile: group e has the columns [padded_offsets[e], padded_offsets[e + 1])
// of Mp, so that a tile never reads another expert's rows.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/operands.h"

namespace octet::ops {

/// What the stretch of a group is filled up to: as many codes as a tile of a product contracts at a time.
inline constexpr std::int64_t kGroupTile = 128;

/// Mp: columns that the stretches of all groups take at most, however `rows` are shared among them.
[[nodiscard]] constexpr std::int64_t padded_rows(std::int64_t rows, std::int64_t experts) {
  return (rows + experts * (kGroupTile - 1)) / kGroupTile * kGroupTile;
}

/// Which routed rows belong to whom, as GroupTokens leaves it.
struct Groups {
  const std::int32_t* offsets = nullptr;         // [E + 1]
  const std::int32_t* padded_offsets = nullptr;  // [E + 1], multiples of kGroupTile
  std::int64_t experts = 0;                      // E
  std::int64_t rows = 0;                         // M
};

/// Where a producer leaves the amax of each column of each group of its bf16 output; zero for an empty group. Unused
/// where amax is null.
struct GroupMaxima {
  bf16* amax = nullptr;  // [E, cols]
  bool wanted = false;   // set in plans too
};

/// Where an op leaves transposed codes of routed rows [M, cols], a scale for each column of each group.
struct GroupCodes {
  std::uint8_t* codes = nullptr;   // [cols, Mp] bytes of the rule's format; of Mp, the groups' stretches are written
  float* scale_inverse = nullptr;  // [E, cols]
  const bf16* amax = nullptr;      // [E, cols]
  fp8::ScaleRule rule = fp8::ScaleRule::of(fp8::Format::e4m3fn, true);
  bool wanted = false;  // set in plans too

  [[nodiscard]] double bytes(const Groups& groups, std::int64_t cols) const {
    return wanted ? static_cast<double>(groups.rows * cols + groups.experts * cols * 6) : 0;
  }
};

// ---- routing --------------------------------------------------------------------------------------------------------

enum class RouterScore : std::uint8_t { sigmoid, softmax };

/// How a router turns logits into a choice.
struct RouterRule {
  std::int64_t experts = 0, top_k = 0;
  std::int64_t groups = 1;       ///< of experts, equal in size, for a choice limited to some of them
  std::int64_t kept_groups = 1;  ///< the groups whose two best (one, where they have one) sum highest
  RouterScore score = RouterScore::sigmoid;
  bool normalised = true;  ///< divides the chosen scores by their sum + 1e-20
  float scale = 1;         ///< then multiplies them
};

/// The experts of each token and how much each counts, in fp32: scores s of the logits, of which the top_k greatest
/// s + bias are chosen, best first; at a tie the lower index wins. What a choice counts comes from s alone. A row with
/// a NaN among its s + bias chooses valid experts, each once, and its weights are NaN.
struct Route {
  static constexpr std::string_view name = "route";
  const float* logits;    // [T, E]
  const float* bias;      // [E], optional
  std::int32_t* experts;  // [T, K]
  float* weights;         // [T, K]
  std::int64_t* load;     // [E]: rows that each expert gets, added to
  std::int64_t rows;      // T
  RouterRule rule;

  [[nodiscard]] double flops() const { return static_cast<double>(rows * rule.experts * 4); }
  [[nodiscard]] double bytes() const { return static_cast<double>(rows * (rule.experts * 4 + rule.top_k * 8)); }
};

/// The gradient of Route's weights with respect to the logits; the choice itself has none. With `balance_scale` other
/// than zero, the gradient of the sequence-wise balance loss is added (DeepSeek-V3, 2024, equations 17-20):
/// balance_scale * sum over the batch of sum_e f_e P_e, where f_e = E / (K S) times how often the sequence chose e,
/// P_e = mean over the sequence of s_e / sum of s. A NaN in dweights reaches the logits of what its token chose.
struct RouteBackward {
  static constexpr std::string_view name = "route_backward";
  const float* logits;          // [T, E]
  const std::int32_t* experts;  // [T, K]
  const float* dweights;        // [T, K]
  float* dlogits;               // [T, E]
  double* balance_loss;         // [1], added to; null where balance_scale is zero
  std::int64_t rows;            // T
  std::int64_t seq_len;         // S: T is a multiple
  RouterRule rule;
  float balance_scale = 0;

  [[nodiscard]] double flops() const { return static_cast<double>(rows * rule.experts * 6); }
  [[nodiscard]] double bytes() const { return static_cast<double>(rows * (rule.experts * 8 + rule.top_k * 8)); }
};

/// Balancing without an auxiliary loss: bias += u - mean(u), u = rate * sign(mean(load) - load); then load = 0. Once
/// per optimizer step, however many micro-batches the load is of.
struct BalanceBias {
  static constexpr std::string_view name = "balance_bias";
  float* bias;         // [E]
  std::int64_t* load;  // [E]
  std::int64_t experts;
  float rate;

  [[nodiscard]] double flops() const { return static_cast<double>(experts * 4); }
  [[nodiscard]] double bytes() const { return static_cast<double>(experts * 24); }
};

/// The permutation that sorts choices by expert and, within one, by token: choice c = t * K + k takes routed row
/// row_of_choice[c], and choice_of_row is its inverse.
struct GroupTokens {
  static constexpr std::string_view name = "group_tokens";
  const std::int32_t* experts;   // [T, K]
  std::int32_t* offsets;         // [E + 1]
  std::int32_t* padded_offsets;  // [E + 1]
  std::int32_t* choice_of_row;   // [M], M = T K
  std::int32_t* row_of_choice;   // [T, K]
  std::int64_t rows;             // T
  std::int64_t top_k, expert_count;

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const { return static_cast<double>(rows * top_k * 12 + expert_count * 8); }
};

// ---- permutation and casts ------------------------------------------------------------------------------------------

/// Routed row r = row choice_of_row[r] / top_k of x: its values, its row codes, the maxima of its group's columns.
struct GatherRows {
  static constexpr std::string_view name = "gather_rows";
  const bf16* x;                      // [T, D]
  const std::int32_t* choice_of_row;  // [M]; null: x holds the routed rows [M, D] themselves
  Groups groups;
  bf16* y;              // [M, D], untouched unless `stored`
  RowCodes codes;       // of y
  GroupMaxima columns;  // of y
  std::int64_t top_k, dim;
  bool stored;

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(groups.rows * dim * (stored ? 4 : 2)) + codes.bytes(groups.rows, dim);
  }
};

/// Transposed codes of the same routed rows.
struct GatherRowsCast {
  static constexpr std::string_view name = "gather_rows_cast";
  const bf16* x;                      // [T, D], or [M, D] where choice_of_row is null
  const std::int32_t* choice_of_row;  // [M], optional
  Groups groups;
  GroupCodes transposed;  // of the routed rows [M, D]
  std::int64_t top_k, dim;

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(groups.rows * dim * 2) + transposed.bytes(groups, dim);
  }
};

/// out[t] = base[t] + the sum of the token's K routed rows, in fp32, from the base on in the order of choice; rounded
/// once.
struct CombineRows {
  static constexpr std::string_view name = "combine_rows";
  const bf16* routed;                 // [M, D]
  const std::int32_t* row_of_choice;  // [T, K]
  const bf16* base;                   // [T, D], optional
  bf16* out;                          // [T, D]: may be base
  std::int64_t rows;                  // T
  std::int64_t top_k, dim;
  bool has_base;

  [[nodiscard]] double flops() const { return static_cast<double>(rows * dim * (top_k + (has_base ? 1 : 0))); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(rows * dim * 2 * (top_k + (has_base ? 2 : 1)) + rows * top_k * 4);
  }
};

/// y = weight * silu(gate) * up of each routed row, in fp32 and rounded once; gate = columns [0, F), up = [F, 2F). A
/// row's weight is weights[choice_of_row[r]].
struct GroupedSwigluForward {
  static constexpr std::string_view name = "grouped_swiglu";
  const bf16* gate_up;                // [M, 2F]
  const float* weights;               // [T, K]
  const std::int32_t* choice_of_row;  // [M]
  Groups groups;
  bf16* y;              // [M, F], untouched unless `stored`
  RowCodes codes;       // of y
  GroupMaxima columns;  // of y
  std::int64_t dim;     // F
  bool stored;

  [[nodiscard]] double flops() const { return static_cast<double>(groups.rows * dim * 7); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(groups.rows * (dim * (stored ? 6 : 4) + 8)) + codes.bytes(groups.rows, dim);
  }
};

/// Gradients of gate and up, rounded once from fp32, and of the weights, which are sums over a row in fp32 in a fixed
/// order. dgate_up may be gate_up itself.
struct GroupedSwigluBackward {
  static constexpr std::string_view name = "grouped_swiglu_backward";
  const bf16* gate_up;                // [M, 2F]
  const bf16* dy;                     // [M, F]
  const float* weights;               // [T, K]
  const std::int32_t* choice_of_row;  // [M]
  Groups groups;
  bf16* dgate_up;       // [M, 2F], untouched unless `stored`
  float* dweights;      // [T, K]
  RowCodes codes;       // of dgate_up
  GroupMaxima columns;  // of dgate_up
  std::int64_t dim;     // F
  bool stored;

  [[nodiscard]] double flops() const { return static_cast<double>(groups.rows * dim * 16); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(groups.rows * (dim * (stored ? 10 : 6) + 12)) + codes.bytes(groups.rows, 2 * dim);
  }
};

/// Transposed codes of what the two above make of the same operands, bit by bit: see SwigluBackwardCast.
struct GroupedSwigluCast {
  static constexpr std::string_view name = "grouped_swiglu_cast";
  const bf16* gate_up;                // [M, 2F]
  const bf16* dy;                     // [M, F]; unread where `transposed` is not wanted
  const float* weights;               // [T, K]
  const std::int32_t* choice_of_row;  // [M]
  Groups groups;
  GroupCodes transposed;  // of dgate_up [M, 2F]
  GroupCodes activated;   // of y [M, F]
  std::int64_t dim;       // F

  [[nodiscard]] double flops() const {
    return static_cast<double>(groups.rows * dim * ((transposed.wanted ? 14 : 0) + (activated.wanted ? 4 : 0)));
  }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(groups.rows * (dim * (transposed.wanted ? 6 : 4) + 8)) +
           transposed.bytes(groups, 2 * dim) + activated.bytes(groups, dim);
  }
};

// ---- grouped products -----------------------------------------------------------------------------------------------

/// D[r] = A[r] B[e]^T for the routed rows r of each group e: forward, where B is W [E, n, k], and dgrad, where B is the
/// transposed codes of W. fp32 accumulation; inverse scales in the epilogue; D is rounded once. Both sides are codes,
/// or both bf16. Deterministic.
struct GroupedGemm {
  static constexpr std::string_view name = "grouped_gemm";
  GemmOperand a = {};  // [M, k]; scales [M]
  GemmOperand b = {};  // [E, n, k], or [E, k, n] where transposed (bf16 only); scales [E, n]
  Groups groups;
  bf16* d;  // [M, n]
  std::int64_t n, k;
  Accumulation accumulation;

  [[nodiscard]] bool is_fp8() const { return a.dtype != DType::bf16; }
  [[nodiscard]] std::int64_t operand_elements() const { return (groups.rows + groups.experts * n) * k; }
  [[nodiscard]] double flops() const { return 2.0 * static_cast<double>(groups.rows) * static_cast<double>(n * k); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(groups.rows * k + groups.experts * n * k) * static_cast<double>(size_of(a.dtype)) +
           static_cast<double>(groups.rows * n * 2);
  }
};

/// D[e] = A_e B_e^T for each group e, where the contraction runs over the group's rows: wgrad of dY [M, m] and X [M,
/// n]. Codes are transposed, [m, Mp] and [n, Mp], with scales [E, m] and [E, n] for the columns of each group; bf16
/// sides are the rows themselves, [M, m] and [M, n], marked transposed. An empty group's D is zeros, or unchanged with
/// `accumulate`. Deterministic.
struct GroupedWgrad {
  static constexpr std::string_view name = "grouped_wgrad";
  GemmOperand a = {};  // [m, Mp] codes, or [M, m] bf16
  GemmOperand b = {};  // [n, Mp] codes, or [M, n] bf16
  Groups groups;
  void* d;  // [E, m, n] bf16 or f32
  std::int64_t m, n;
  DType d_dtype;
  bool accumulate;  // f32 D only
  Accumulation accumulation;

  [[nodiscard]] bool is_fp8() const { return a.dtype != DType::bf16; }
  [[nodiscard]] std::int64_t operand_elements() const { return groups.rows * (m + n); }
  [[nodiscard]] double flops() const { return 2.0 * static_cast<double>(groups.rows) * static_cast<double>(m * n); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(groups.rows * (m + n)) * static_cast<double>(size_of(a.dtype)) +
           static_cast<double>(groups.experts * m * n) * static_cast<double>(size_of(d_dtype)) * (accumulate ? 2 : 1);
  }
};

}  // namespace octet::ops
