// The op table must fail where it should: faults in the ops of a mixture of experts, those of published kernels among
// them: scales that run into the next group's, maxima of a part of a large group, rows of nobody that count.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ops/faulty_op.h"

namespace octet::test {
namespace {

/// The group with the most rows.
std::int64_t largest_group(const Groups& groups) {
  std::int64_t largest = 0;
  for (std::int64_t e = 1; e < groups.experts; ++e) {
    const auto rows = [&](std::int64_t group) { return groups.offsets[group + 1] - groups.offsets[group]; };
    if (rows(e) > rows(largest)) largest = e;
  }
  return largest;
}

std::int64_t used_rows(const Groups& groups) {
  return groups.offsets[groups.experts];
}

TEST(OpTableMoeFaults, Route) {
  expect_caught<Route>("experts of token", [](const Route& op) {  // the second best before the best
    if (op.rows > 1 && op.rule.top_k > 1) std::swap(op.experts[0], op.experts[1]);
  });
  expect_caught<Route>("weights of token", [](const Route& op) {
    if (op.rows > 0) op.weights[0] *= 1.001F;
  });
  expect_caught<Route>("load[", [](const Route& op) {
    if (op.rows > 0) op.load[op.experts[0]] -= 1;
  });
  expect_mistake_caught<Route>("experts of token", [](Route op) {  // all groups kept
    op.rule.kept_groups = op.rule.groups;
    return op;
  });
  expect_mistake_caught<Route>("bias: experts of token", [](Route op) {
    op.bias = nullptr;
    return op;
  });
  expect_mistake_caught<Route>("weights of token", [](Route op) {
    op.rule.normalised = true;
    return op;
  });
  expect_caught<Route>("a row with NaN has the weight", [](const Route& op) {
    for (std::int64_t i = 0; i < op.rows * op.rule.top_k; ++i) {
      if (std::isnan(op.weights[i])) op.weights[i] = 0;
    }
  });
  expect_caught<Route>("ties: experts of token", [](const Route& op) {  // at a tie the higher index
    for (std::int64_t i = 0; i + 1 < op.rows * op.rule.top_k; ++i) {
      if (op.weights[i] == op.weights[i + 1]) return std::swap(op.experts[i], op.experts[i + 1]);
    }
  });
}

TEST(OpTableMoeFaults, RouteBackward) {
  expect_caught<RouteBackward>("dlogits[", [](const RouteBackward& op) {
    if (op.rows > 0) op.dlogits[op.experts[0]] *= 1.01F;
  });
  expect_caught<RouteBackward>("balance_loss[", [](const RouteBackward& op) {
    if (op.balance_loss != nullptr) *op.balance_loss *= 1.0001;
  });
  expect_mistake_caught<RouteBackward>("dlogits[", [](RouteBackward op) {  // over the batch, not by sequence
    op.seq_len = op.rows > 0 ? op.rows : op.seq_len;
    return op;
  });
  expect_mistake_caught<RouteBackward>("dlogits[", [](RouteBackward op) {
    op.rule.normalised = false;
    return op;
  });
  expect_caught<RouteBackward>("NaN: dlogits[", [](const RouteBackward& op) {
    for (std::int64_t i = 0; i < op.rows * op.rule.experts; ++i) {
      if (!std::isfinite(op.dlogits[i])) op.dlogits[i] = 0;
    }
  });
}

TEST(OpTableMoeFaults, BalanceAndPermutation) {
  expect_caught<BalanceBias>("bias[", [](const BalanceBias& op) {  // not centred
    if (op.experts > 1) op.bias[0] += op.rate / 8;
  });
  expect_caught<BalanceBias>("load[", [](const BalanceBias& op) { op.load[op.experts - 1] = 1; });
  expect_caught<GroupTokens>("padded_offsets[", [](const GroupTokens& op) {  // the offsets as they are
    std::copy_n(op.offsets, op.expert_count + 1, op.padded_offsets);
  });
  expect_caught<GroupTokens>("choice_of_row[", [](const GroupTokens& op) {  // two rows of a group in the other order
    const std::int32_t first = op.offsets[0];
    if (op.offsets[1] - first > 1) std::swap(op.choice_of_row[first], op.choice_of_row[first + 1]);
  });
  expect_caught<GroupTokens>("row_of_choice[", [](const GroupTokens& op) {
    if (op.rows * op.top_k > 1) std::swap(op.row_of_choice[0], op.row_of_choice[1]);
  });
}

TEST(OpTableMoeFaults, GatherRows) {
  expect_mistake_caught<GatherRows>("y[", [](GatherRows op) {  // other tokens
    op.top_k *= 2;
    return op;
  });
  expect_caught<GatherRows>(": codes[", [](const GatherRows& op) {  // where they are all that stays
    if (!op.stored && op.codes.wanted && used_rows(op.groups) > 0) op.codes.codes[0] ^= 1U;
  });
  expect_caught<GatherRows>("wrote to y where no group is", [](const GatherRows& op) {
    if (op.stored && used_rows(op.groups) < op.groups.rows) op.y[op.groups.rows * op.dim - 1] = bf16{0};
  });
  expect_caught<GatherRows>("wrote to scale_inverse where no group is", [](const GatherRows& op) {
    if (op.codes.wanted && used_rows(op.groups) < op.groups.rows) op.codes.scale_inverse[op.groups.rows - 1] = 1;
  });
  expect_caught<GatherRows>(": column_amax[", [](const GatherRows& op) {  // of the first 64 rows of a large group
    if (!op.columns.wanted || !op.stored) return;
    const std::int64_t e = largest_group(op.groups);
    const std::int64_t first = op.groups.offsets[e];
    for (std::int64_t col = 0; col < op.dim; ++col) {
      bf16 largest{0};
      for (std::int64_t row = first; row < std::min<std::int64_t>(op.groups.offsets[e + 1], first + 64); ++row) {
        largest = fp8::max_magnitude(largest, op.y[row * op.dim + col]);
      }
      op.columns.amax[e * op.dim + col] = largest;
    }
  });
  expect_caught<GatherRows>(": column_amax[", [](const GatherRows& op) {  // whatever was there, for an empty group
    if (!op.columns.wanted) return;
    for (std::int64_t e = 0; e < op.groups.experts; ++e) {
      if (op.groups.offsets[e] == op.groups.offsets[e + 1]) op.columns.amax[e * op.dim] = bf16{0x3F80};
    }
  });
}

TEST(OpTableMoeFaults, GatherRowsCast) {
  expect_caught<GatherRowsCast>("codes transposed[", [](const GatherRowsCast& op) {  // a tail that is not zero
    for (std::int64_t e = 0; e < op.groups.experts; ++e) {
      const std::int64_t rows = op.groups.offsets[e + 1] - op.groups.offsets[e];
      if (op.groups.padded_offsets[e] + rows < op.groups.padded_offsets[e + 1]) {
        op.transposed.codes[op.groups.padded_offsets[e] + rows] = 1;
      }
    }
  });
  expect_caught<GatherRowsCast>("codes transposed[", [](const GatherRowsCast& op) {  // zeros beyond all groups
    const std::int64_t stride = padded_rows(op.groups.rows, op.groups.experts);
    if (op.groups.padded_offsets[op.groups.experts] < stride) op.transposed.codes[stride - 1] = 0;
  });
  expect_caught<GatherRowsCast>("scale_inverse transposed[", [](const GatherRowsCast& op) {
    // A block of 64 columns that ends beyond the last writes over the next group's first scales.
    if (op.groups.experts < 2 || op.dim % 64 == 0) return;
    for (std::int64_t i = 0; i < 64 - op.dim % 64 && i < op.dim; ++i) op.transposed.scale_inverse[op.dim + i] = 1;
  });
  expect_caught<GatherRowsCast>("scale_inverse transposed[", [](const GatherRowsCast& op) {  // of the neighbour
    float* scales = op.transposed.scale_inverse;
    if (op.groups.experts > 1) std::copy_n(scales, op.dim, scales + op.dim);
  });
}

TEST(OpTableMoeFaults, CombineRows) {
  expect_mistake_caught<CombineRows>("out[", [](CombineRows op) {
    op.has_base = false;
    return op;
  });
  expect_caught<CombineRows>("out[", [](const CombineRows& op) {
    if (op.rows > 0) move(op.out[op.rows * op.dim - 1], 2);
  });
}

TEST(OpTableMoeFaults, GroupedSwiglu) {
  expect_caught<GroupedSwigluForward>("y[", [](const GroupedSwigluForward& op) {
    if (op.stored && used_rows(op.groups) > 0) move(op.y[used_rows(op.groups) * op.dim - 1], 2);
  });
  expect_mistake_caught<GroupedSwigluForward>(": column_amax[", [](GroupedSwigluForward op) {
    op.columns = {};
    return op;
  });
  expect_caught<GroupedSwigluForward>("wrote to codes where no group is", [](const GroupedSwigluForward& op) {
    if (op.codes.wanted && used_rows(op.groups) < op.groups.rows) op.codes.codes[op.groups.rows * op.dim - 1] = 0;
  });
  expect_caught<GroupedSwigluBackward>("dgate_up[", [](const GroupedSwigluBackward& op) {
    if (op.stored && used_rows(op.groups) > 0) move(op.dgate_up[used_rows(op.groups) * 2 * op.dim - 1], 2);
  });
  expect_caught<GroupedSwigluBackward>("dweights[", [](const GroupedSwigluBackward& op) {
    if (used_rows(op.groups) > 0) op.dweights[op.choice_of_row[0]] *= 1.01F;
  });
  expect_caught<GroupedSwigluBackward>("wrote to dweights where no group is", [](const GroupedSwigluBackward& op) {
    if (used_rows(op.groups) < op.groups.rows) op.dweights[op.choice_of_row[op.groups.rows - 1]] = 0;
  });
  expect_caught<GroupedSwigluBackward>("dgate_up in place[", [](const GroupedSwigluBackward& op) {
    if (op.dgate_up == op.gate_up && used_rows(op.groups) > 0) move(op.dgate_up[0], 1);
  });
  expect_caught<GroupedSwigluCast>("codes transposed[", [](const GroupedSwigluCast& op) {  // those of dgate for dup
    const std::int64_t half = padded_rows(op.groups.rows, op.groups.experts) * op.dim;
    if (op.transposed.wanted) std::copy_n(op.transposed.codes, half, op.transposed.codes + half);
  });
  expect_mistake_caught<GroupedSwigluCast>("codes transposed[", [](GroupedSwigluCast op) {  // without the rows' weights
    const auto rows = static_cast<std::size_t>(op.groups.rows);
    static const std::vector<float> ones(4096, 1.0F);
    static const std::vector<std::int32_t> zeros(4096);
    if (rows > zeros.size()) return op;
    op.weights = ones.data();
    op.choice_of_row = zeros.data();
    return op;
  });
}

TEST(OpTableMoeFaults, GroupedProducts) {
  expect_caught<GroupedGemm>("d[", [](const GroupedGemm& op) {
    if (used_rows(op.groups) * op.n > 0) move(op.d[used_rows(op.groups) * op.n - 1], 8);
  });
  expect_caught<GroupedGemm>("wrote to d where no group is", [](const GroupedGemm& op) {
    if (used_rows(op.groups) < op.groups.rows) op.d[op.groups.rows * op.n - 1] = bf16{0};
  });
  expect_caught<GroupedGemm>("d[", [](const GroupedGemm& op) {  // rows of two groups exchanged
    const std::int64_t used = used_rows(op.groups);
    if (used > 1) std::swap_ranges(op.d, op.d + op.n, op.d + (used - 1) * op.n);
  });
  expect_caught<GroupedWgrad>("d[", [](const GroupedWgrad& op) {  // what was there, for an empty group
    if (op.accumulate || op.d_dtype != DType::f32) return;
    for (std::int64_t e = 0; e < op.groups.experts; ++e) {
      if (op.groups.offsets[e] == op.groups.offsets[e + 1]) static_cast<float*>(op.d)[e * op.m * op.n] = 1;
    }
  });
  expect_caught<GroupedWgrad>("d[", [](const GroupedWgrad& op) {
    if (op.accumulate && used_rows(op.groups) > 0) static_cast<float*>(op.d)[op.m * op.n] += 1e-2F;
  });
  expect_caught<GroupedWgrad>("d[", [](const GroupedWgrad& op) {  // that of another group
    if (op.d_dtype != DType::bf16 || op.groups.experts < 2) return;
    auto* d = static_cast<bf16*>(op.d);
    std::swap_ranges(d, d + op.m * op.n, d + op.m * op.n);
  });
}

TEST(OpTableMoeFaults, SeveralMatricesTakenForOne) {
  expect_mistake_caught<Maxima>("column_amax[", [](Maxima op) {
    op.rows *= op.matrices;
    op.matrices = op.matrices > 0 ? 1 : 0;
    return op;
  });
  expect_mistake_caught<Cast>("scale_inverse transposed[", [](Cast op) {
    op.rows *= op.matrices;
    op.matrices = op.matrices > 0 ? 1 : 0;
    return op;
  });
  expect_mistake_caught<AdamW>("column_amax[", [](AdamW op) {
    op.rows *= op.matrices;
    op.matrices = op.matrices > 0 ? 1 : 0;
    return op;
  });
}

}  // namespace
}  // namespace octet::test
