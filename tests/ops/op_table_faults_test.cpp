// The op table must fail where it should: faults are planted behind a working backend, at least one in every op. Those
// of a mixture of experts are in op_table_moe_faults_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/faulty_op.h"

namespace octet::test {
namespace {

/// The amax of the first column of x [rows, cols].
bf16 column_amax(const bf16* x, std::int64_t rows, std::int64_t cols) {
  bf16 largest{0};
  for (std::int64_t row = 0; row < rows; ++row) largest = fp8::max_magnitude(largest, x[row * cols]);
  return largest;
}

TEST(OpTableFaults, Embedding) {
  expect_caught<EmbeddingForward>("out[", [](const EmbeddingForward& op) {
    if (op.rows > 0) move(op.out[op.rows * op.dim - 1], 1);
  });
  expect_caught<EmbeddingBackward>("dtable[", [](const EmbeddingBackward& op) {
    if (op.dtype == DType::f32) static_cast<float*>(op.dtable)[0] += 1e-3F;
  });
  expect_caught<EmbeddingBackward>("dtable[", [](const EmbeddingBackward& op) {
    if (op.dtype == DType::bf16) move(static_cast<bf16*>(op.dtable)[0], 4);
  });
}

TEST(OpTableFaults, RmsNorm) {
  expect_caught<RmsNormForward>("y[", [](const RmsNormForward& op) {
    if (op.rows > 0 && op.stored) move(op.y[op.rows * op.dim - 1], 2);
  });
  expect_caught<RmsNormForward>("rstd[", [](const RmsNormForward& op) {
    if (op.rows > 0) op.rstd[op.rows - 1] *= 1.001F;
  });
  expect_caught<RmsNormForward>(": codes[", [](const RmsNormForward& op) {
    if (op.codes.wanted && op.rows > 0) op.codes.codes[0] ^= 1U;
  });
  expect_caught<RmsNormForward>(": row_amax[", [](const RmsNormForward& op) {
    if (op.codes.amax != nullptr && op.rows > 0) move(op.codes.amax[op.rows - 1], 1);
  });
  expect_caught<RmsNormForward>(": column_amax[", [](const RmsNormForward& op) {
    if (op.columns.wanted) move(op.columns.amax[op.dim - 1], 1);
  });
  expect_caught<RmsNormBackward>("dx[", [](const RmsNormBackward& op) {
    if (op.rows > 0) move(op.dx[0], 4);
  });
  expect_caught<RmsNormBackward>("dweight[", [](const RmsNormBackward& op) { op.dweight[0] *= 1.01F; });
  expect_caught<RmsNormBackward>(": column_amax[", [](const RmsNormBackward& op) {  // of the rows but the last
    if (op.columns.wanted && op.rows > 1) op.columns.amax[0] = column_amax(op.dx, op.rows - 1, op.dim);
  });
}

TEST(OpTableFaults, Rope) {
  expect_caught<Rope>("not rotated", [](const Rope& op) {
    if (op.row_stride > op.heads * op.head_dim && op.rows > 0) move(op.qkv[op.row_stride - 1], 1);
  });
  expect_caught<Rope>(": codes[", [](const Rope& op) {  // of the last head, which need not be a rotated one
    if (op.codes.wanted && op.rows > 0) op.codes.codes[op.row_stride - 1] ^= 1U;
  });
  expect_mistake_caught<Rope>(": column_amax[", [](Rope op) {
    op.columns = {};
    return op;
  });
  expect_caught<Rope>(": row_amax[", [](const Rope& op) {  // of the rotated heads alone
    if (op.codes.amax == nullptr) return;
    const auto rotated = static_cast<std::size_t>(op.heads * op.head_dim);
    for (std::int64_t row = 0; row < op.rows; ++row) {
      op.codes.amax[row] = fp8::amax({op.qkv + row * op.row_stride, rotated});
    }
  });
}

TEST(OpTableFaults, Attention) {
  expect_caught<AttentionForward>("out[", [](const AttentionForward& op) {
    if (op.shape.rows() > 0) move(op.out[op.shape.rows() * op.shape.out_cols() - 1], 16);
  });
  expect_caught<AttentionForward>("lse[", [](const AttentionForward& op) {
    if (op.shape.rows() > 0) op.lse[0] += 1e-3F;
  });
  expect_caught<AttentionBackward>("dqkv[", [](const AttentionBackward& op) {
    if (op.shape.rows() > 0) op.dqkv[op.shape.rows() * op.shape.qkv_cols() - 1] = bf16{0};
  });
  expect_caught<AppendToCache>("cache_v[", [](const AppendToCache& op) {
    if (op.batch > 0) move(op.cache_v[0], 1);
  });
  expect_caught<AttentionDecode>("out[", [](const AttentionDecode& op) {
    if (op.batch > 0) move(op.out[0], 16);
  });
}

TEST(OpTableFaults, Swiglu) {
  expect_caught<SwigluForward>("y[", [](const SwigluForward& op) {
    if (op.rows > 0 && op.stored) move(op.y[op.rows * op.dim - 1], 2);
  });
  expect_caught<SwigluForward>(": codes[", [](const SwigluForward& op) {  // where they are all that stays
    if (op.rows > 0 && op.codes.wanted && !op.stored) op.codes.codes[op.rows * op.dim - 1] ^= 1U;
  });
  expect_caught<SwigluBackward>("dgate_up[", [](const SwigluBackward& op) {
    if (op.rows > 0 && op.stored) move(op.dgate_up[op.rows * 2 * op.dim - 1], 2);
  });
  expect_mistake_caught<SwigluForward>(": column_amax[", [](SwigluForward op) {
    op.columns = {};
    return op;
  });
  expect_caught<SwigluBackward>(": column_amax[", [](const SwigluBackward& op) {  // of the gates, for the ups as well
    if (op.columns.wanted) std::copy_n(op.columns.amax, op.dim, op.columns.amax + op.dim);
  });
  expect_caught<SwigluBackward>("dgate_up in place[", [](const SwigluBackward& op) {
    if (op.rows > 0 && op.dgate_up == op.gate_up) move(op.dgate_up[0], 1);
  });
  expect_caught<SwigluBackward>(": codes[", [](const SwigluBackward& op) {  // where they are all that stays
    if (op.rows > 0 && op.codes.wanted && !op.stored) op.codes.codes[op.rows * 2 * op.dim - 1] ^= 1U;
  });
}

TEST(OpTableFaults, RmsNormForwardCast) {
  expect_caught<RmsNormForward>(": codes[", [](const RmsNormForward& op) {  // where they are all that stays
    if (op.rows > 0 && op.codes.wanted && !op.stored) op.codes.codes[op.rows * op.dim - 1] ^= 1U;
  });
  expect_mistake_caught<RmsNormForwardCast>("codes transposed[", [](RmsNormForwardCast op) {  // of another row
    if (op.rows > 1) {
      op.rstd += 1;
      op.x += op.dim;
      op.rows -= 1;
    }
    return op;
  });
  expect_caught<RmsNormForwardCast>("scale_inverse transposed[",
                                    [](const RmsNormForwardCast& op) { op.transposed.scale_inverse[op.dim - 1] *= 2; });
}

TEST(OpTableFaults, SwigluBackwardCast) {
  expect_caught<SwigluBackwardCast>("codes transposed[", [](const SwigluBackwardCast& op) {
    if (op.rows > 0 && op.activated.wanted) op.activated.codes[op.rows * op.dim - 1] ^= 0x10U;
  });
  expect_caught<SwigluBackwardCast>("codes transposed[", [](const SwigluBackwardCast& op) {
    if (op.rows > 0) op.transposed.codes[op.rows * 2 * op.dim - 1] ^= 0x10U;
  });
  expect_caught<SwigluBackwardCast>("codes transposed[", [](const SwigluBackwardCast& op) {  // those of dgate for dup
    const std::int64_t half = op.rows * op.dim;
    std::copy_n(op.transposed.codes, half, op.transposed.codes + half);
  });
  expect_caught<SwigluBackwardCast>("scale_inverse transposed[", [](const SwigluBackwardCast& op) {
    std::swap(op.transposed.scale_inverse[0], op.transposed.scale_inverse[op.dim]);
  });
}

TEST(OpTableFaults, Casts) {
  expect_caught<QuantizeRows>("scale_inverse[", [](const QuantizeRows& op) {
    if (op.rows > 0) op.codes.scale_inverse[0] = std::nextafter(op.codes.scale_inverse[0], 0.0F);
  });
  expect_caught<QuantizeRows>(": column_amax[", [](const QuantizeRows& op) {
    if (op.columns.wanted && op.cols > 1) std::swap(op.columns.amax[0], op.columns.amax[1]);
  });
  expect_caught<Cast>("codes as stored[", [](const Cast& op) {  // in a cast to both layouts only
    if (op.rows * op.cols > 0 && op.as_stored.wanted() && op.transposed.wanted()) op.as_stored.codes[0] ^= 1U;
  });
  expect_caught<Cast>("codes transposed[", [](const Cast& op) {
    if (op.rows > 1 && op.transposed.wanted()) std::swap(op.transposed.codes[0], op.transposed.codes[1]);
  });
  expect_caught<Cast>("scale_inverse transposed[", [](const Cast& op) {
    if (op.transposed.axis != fp8::ScaleAxis::tensor) return;
    op.transposed.scale_inverse[0] = std::nextafter(op.transposed.scale_inverse[0], 0.0F);
  });
  expect_mistake_caught<Cast>("scale_inverse as stored[", [](Cast op) {  // the maxima of the wrong axis
    if (op.row_amax != nullptr && op.column_amax != nullptr && op.rows <= op.cols) op.row_amax = op.column_amax;
    return op;
  });
  expect_caught<CastStatistics>("saturated[", [](const CastStatistics& op) { *op.saturated += 1; });
  expect_caught<CastStatistics>("underflowed[", [](const CastStatistics& op) {
    if (op.rows * op.cols > 1) *op.underflowed += 1;
  });
}

TEST(OpTableFaults, Maxima) {
  expect_caught<Maxima>(": row_amax[", [](const Maxima& op) {
    if (op.row_amax != nullptr && op.rows > 1) std::swap(op.row_amax[0], op.row_amax[op.rows - 1]);
  });
  expect_caught<Maxima>(": column_amax[", [](const Maxima& op) {  // of the first rows, as one thread of many has it
    if (op.rows > 1 && op.cols > 0) op.column_amax[0] = column_amax(op.x, op.rows / 2, op.cols);
  });
}

TEST(OpTableFaults, MaximaAndCastsThatSwallowNaN) {
  expect_caught<Maxima>("with NaN: row_amax[", [](const Maxima& op) {
    if (op.row_amax == nullptr) return;
    for (std::int64_t row = 0; row < op.rows; ++row) {
      if (std::isnan(to_float(op.row_amax[row]))) op.row_amax[row] = bf16{0x7F80};
    }
  });
  expect_caught<Maxima>("with NaN: column_amax[", [](const Maxima& op) {
    for (std::int64_t col = 0; col < op.cols; ++col) {
      if (std::isnan(to_float(op.column_amax[col]))) op.column_amax[col] = to_bf16(1);
    }
  });
  expect_caught<QuantizeRows>("with NaN", [](const QuantizeRows& op) {
    for (std::int64_t row = 0; row < op.rows; ++row) {
      float& scale_inverse = op.codes.scale_inverse[row];
      if (std::isnan(scale_inverse)) scale_inverse = 1;
    }
  });
}

TEST(OpTableFaults, Gemm) {
  expect_caught<Gemm>("d[", [](const Gemm& op) {
    if (op.d_dtype == DType::bf16 && op.m * op.n > 0) move(static_cast<bf16*>(op.d)[0], 8);
  });
  expect_caught<Gemm>("d[", [](const Gemm& op) {
    if (op.accumulate) static_cast<float*>(op.d)[op.m * op.n - 1] += 1e-2F;
  });
}

TEST(OpTableFaults, LossAndSums) {
  expect_caught<CrossEntropy>("loss[", [](const CrossEntropy& op) {
    if (op.rows > 2) op.loss[2] = 1e-2F;  // an ignored row
  });
  expect_caught<CrossEntropy>("dlogits[", [](const CrossEntropy& op) {
    if (op.rows > 0 && op.gradient) move(op.logits[op.vocab - 1], 16);
  });
  expect_caught<SumFloats>("total[", [](const SumFloats& op) { *op.total += 1e-6; });
  expect_caught<SumOfSquares>("total[", [](const SumOfSquares& op) { *op.total += 1e-6; });
  expect_caught<SumOfSquares>("total[", [](const SumOfSquares& op) {  // squares that a float cannot hold
    const auto narrow = static_cast<float>(*op.total);
    if (!std::isnormal(narrow)) *op.total = static_cast<double>(narrow);
  });
  expect_mistake_caught<SumOfSquares>("total[", [](SumOfSquares op) {  // the last of an odd number forgotten
    if (op.dtype == DType::bf16) op.count -= op.count % 2;
    return op;
  });
}

TEST(OpTableFaults, Optimizer) {
  expect_caught<Zero>("data[", [](const Zero& op) {
    if (op.size > 0) static_cast<std::uint8_t*>(op.data)[op.size - 1] = 1;
  });
  expect_caught<FindNonFinite>("first[", [](const FindNonFinite& op) { *op.first += 1; });
}

TEST(OpTableFaults, AdamW) {
  expect_caught<AdamW>("master[", [](const AdamW& op) {
    if (op.has_master && op.rows * op.cols > 0) op.master[op.rows * op.cols - 1] += 1e-5F;
  });
  expect_caught<AdamW>("weight[", [](const AdamW& op) {
    if (op.has_master && op.rows * op.cols > 0) move(op.weight[0], 1);
  });
  expect_caught<AdamW>("v[", [](const AdamW& op) {
    if (op.moments == DType::bf16 && op.rows * op.cols > 0) move(static_cast<bf16*>(op.v)[0], 1);
  });
  expect_mistake_caught<AdamW>("master[", [](AdamW op) {
    op.lr_scale = 1;
    return op;
  });
}

TEST(OpTableFaults, AdamWWithGradientsOfOthers) {
  expect_mistake_caught<AdamW>("m[", [](AdamW op) {  // of the neighbour
    if (op.gradients == DType::bf16 && op.rows * op.cols > 1) op.gradient = static_cast<const bf16*>(op.gradient) + 1;
    return op;
  });
}

TEST(OpTableFaults, AdamWWithRandomBitsOfOthers) {
  expect_mistake_caught<AdamW>("weight[", [](AdamW op) {  // of another element: counted over the whole, not by rows
    if (op.has_master || op.moments == DType::bf16 || op.measures) return op;
    op.cols *= op.rows;
    op.rows = 1;
    return op;
  });
  expect_mistake_caught<AdamW>("m[", [](AdamW op) {  // of another parameter
    if (op.moments == DType::bf16) op.stream += 1;
    return op;
  });
}

TEST(OpTableFaults, AdamWWithMaximaThatAreNotOfTheNewWeight) {
  expect_mistake_caught<AdamW>(": row_amax[", [](AdamW op) {  // of the old one
    if (op.has_master || !op.measures || op.rows == 0) return op;
    const auto cols = static_cast<std::size_t>(op.cols);
    for (std::int64_t row = 0; row < op.rows; ++row) op.row_amax[row] = fp8::amax({op.weight + row * op.cols, cols});
    op.measures = false;
    return op;
  });
  expect_caught<AdamW>(": column_amax[", [](const AdamW& op) {
    if (op.measures && op.rows > 1 && op.cols > 0) op.column_amax[0] = column_amax(op.weight, op.rows - 1, op.cols);
  });
}

TEST(OpTableFaults, Watching) {
  expect_caught<Copy>("to[", [](const Copy& op) {
    if (op.size > 0) static_cast<std::uint8_t*>(op.to)[op.size - 1] ^= 1U;
  });
  expect_caught<Difference>("energies[0]", [](const Difference& op) { op.energies[0] *= 1 + 1e-9; });
  expect_caught<Difference>("energies[1]", [](const Difference& op) {
    if (op.count > 1) op.energies[1] *= 1 + 1e-9;
  });
}

TEST(OpTableFaults, InfinityAndNaNThatVanish) {
  expect_caught<SwigluForward>("NaN and infinity", [](const SwigluForward& op) {
    for (std::int64_t i = 0; op.stored && i < op.rows * op.dim; ++i) {
      if (!std::isfinite(to_float(op.y[i]))) op.y[i] = bf16{0};
    }
  });
}

TEST(OpTableFaults, WritesOutsideItsBuffers) {
  expect_caught<SwigluForward>("wrote behind y", [](const SwigluForward& op) {
    if (op.stored) op.y[op.rows * op.dim] = bf16{0};
  });
  expect_caught<SwigluForward>("wrote before y", [](const SwigluForward& op) {
    if (op.stored) op.y[-1] = bf16{0};
  });
  expect_caught<SwigluForward>("changed its input gate_up", [](const SwigluForward& op) {
    if (op.rows > 0) const_cast<bf16*>(op.gate_up)[0] = bf16{0};
  });
}

TEST(OpTableFaults, Throws) {
  expect_caught<Rope>("no such head", [](const Rope&) { throw Failure("no such head"); });
}

TEST(OpTableFaults, ABitWithinToleranceChangesTheDigest) {
  const auto untouched = result_with<AdamW>(no_mistake<AdamW>, [](const AdamW&) {});
  const auto changed = result_with<AdamW>(no_mistake<AdamW>, [](const AdamW& op) {
    if (op.rows * op.cols != 1 || op.moments != DType::f32) return;
    auto& m = *static_cast<float*>(op.m);
    m = std::nextafter(m, 1.0F);
  });
  EXPECT_TRUE(untouched.passed()) << untouched.message;
  EXPECT_TRUE(changed.passed()) << changed.message;
  EXPECT_NE(untouched.digest, changed.digest);
}

}  // namespace
}  // namespace octet::test
