// Grouped ops on the CPU are loops over groups of the dense ones, bit by bit: products of the same operands, casts of
// the same rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ops/cpu/cpu_backend.h"
#include "ops/one_op.h"
#include "ops/reference/grouped.h"
#include "ops/reference/routing.h"
#include "ops/selftest/inputs.h"

namespace octet::test {
namespace {

using namespace ops::selftest;  // NOLINT(google-build-using-namespace): inputs and indices
using ops::Accumulation;
using ops::GemmOperand;
using ops::ScaleAxis;
using ops::reference::Codes;

struct Split {
  std::vector<std::int32_t> offsets, padded_offsets;

  explicit Split(const std::vector<std::int32_t>& sizes) : offsets(sizes.size() + 1) {
    std::partial_sum(sizes.begin(), sizes.end(), offsets.begin() + 1);
    padded_offsets = ops::reference::pad_offsets(offsets);
  }
  [[nodiscard]] ops::Groups groups() const {
    return {offsets.data(), padded_offsets.data(), std::ssize(offsets) - 1, offsets.back()};
  }
  [[nodiscard]] Index first(Index e) const { return offsets[static_cast<std::size_t>(e)]; }
  [[nodiscard]] Index rows(Index e) const { return first(e + 1) - first(e); }
  [[nodiscard]] Index padded() const { return ops::padded_rows(offsets.back(), std::ssize(offsets) - 1); }
};

/// Groups of sizes at and around the blocks of products, none at all among them.
Split hostile_split() {
  return Split({0, 1, 17, 31, 32, 33, 0, 100, 257, 300, 0});
}

constexpr auto kRule = fp8::ScaleRule::of(fp8::Format::e4m3fn, true);

template <typename T>
void expect_same_bits(const std::vector<T>& got, const std::vector<T>& want, std::string_view what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof(T)), 0) << what << '[' << i << ']';
  }
}

GemmOperand operand(const Codes& codes, Index first_code, Index first_scale) {
  return {codes.codes.data() + first_code, codes.scale_inverse.data() + first_scale, DType::e4m3fn, ScaleAxis::row,
          false};
}

struct ProductCase {
  Index n, k;
};

class GroupedProducts : public testing::TestWithParam<ProductCase> {
 protected:
  const std::unique_ptr<ops::Backend> cpu_ = ops::make_cpu_backend(2);
  const Split split_ = hostile_split();
  const Index rows_ = split_.offsets.back();
  const Index experts_ = split_.groups().experts;
};

TEST_P(GroupedProducts, OfFp8RowsAreDenseProducts) {
  const auto [n, k] = GetParam();
  const Codes a = ops::reference::quantize_rows(random_bf16("a", rows_ * k), rows_, k, kRule);
  const Codes b = ops::reference::quantize_rows(random_bf16("b", experts_ * n * k), experts_ * n, k, kRule);
  std::vector<bf16> d(static_cast<std::size_t>(rows_ * n));
  run_one(*cpu_,
          ops::GroupedGemm{operand(a, 0, 0), operand(b, 0, 0), split_.groups(), d.data(), n, k, Accumulation::full});
  std::vector<bf16> want(d.size());
  for (Index e = 0; e < experts_; ++e) {
    const Index first = split_.first(e);
    run_one(*cpu_, ops::Gemm{operand(a, first * k, first), operand(b, e * n * k, e * n), want.data() + first * n,
                             split_.rows(e), n, k, DType::bf16, false, Accumulation::full});
  }
  expect_same_bits(d, want, "d");
}

TEST_P(GroupedProducts, OfBf16RowsAreDenseProducts) {
  const auto [n, k] = GetParam();
  const auto a = random_bf16("a", rows_ * k);
  const auto b = random_bf16("b", experts_ * n * k);
  for (const bool transposed : {false, true}) {
    std::vector<bf16> d(static_cast<std::size_t>(rows_ * n));
    const GemmOperand all_b{.data = b.data(), .transposed = transposed};
    run_one(*cpu_, ops::GroupedGemm{{.data = a.data()}, all_b, split_.groups(), d.data(), n, k, Accumulation::full});
    std::vector<bf16> want(d.size());
    for (Index e = 0; e < experts_; ++e) {
      const Index first = split_.first(e);
      const GemmOperand of_expert{.data = b.data() + e * n * k, .transposed = transposed};
      run_one(*cpu_, ops::Gemm{{.data = a.data() + first * k},
                               of_expert,
                               want.data() + first * n,
                               split_.rows(e),
                               n,
                               k,
                               DType::bf16,
                               false,
                               Accumulation::full});
    }
    expect_same_bits(d, want, transposed ? "d of transposed matrices" : "d");
  }
}

// The contraction of the dense product is that of the group alone, without zeros behind it.
TEST_P(GroupedProducts, OfFp8ContractionsAreDenseProducts) {
  const auto [m, n] = GetParam();
  const auto x = random_bf16("x", rows_ * m);
  const auto y = random_bf16("y", rows_ * n);
  const auto codes_of = [&](const std::vector<bf16>& values, Index cols) {
    return ops::reference::cast_groups(values, ops::reference::group_column_maxima(values, split_.offsets, cols),
                                       split_.offsets, split_.padded_offsets, cols, split_.padded(), kRule, 0x7F);
  };
  const Codes a = codes_of(x, m);
  const Codes b = codes_of(y, n);
  std::vector<float> d(static_cast<std::size_t>(experts_ * m * n), 1.0F);
  run_one(*cpu_, ops::GroupedWgrad{operand(a, 0, 0), operand(b, 0, 0), split_.groups(), d.data(), m, n, DType::f32,
                                   false, Accumulation::full});
  std::vector<float> want(d.size());
  for (Index e = 0; e < experts_; ++e) {
    const auto of_group = [&](const std::vector<bf16>& values, Index cols) {
      const auto rows = std::span(values).subspan(split_.first(e) * cols, split_.rows(e) * cols);
      return ops::reference::quantize_rows(ops::reference::transpose(rows, split_.rows(e), cols), cols, split_.rows(e),
                                           kRule);
    };
    const Codes a_of_group = of_group(x, m);
    const Codes b_of_group = of_group(y, n);
    run_one(*cpu_, ops::Gemm{operand(a_of_group, 0, 0), operand(b_of_group, 0, 0), want.data() + e * m * n, m, n,
                             split_.rows(e), DType::f32, false, Accumulation::full});
  }
  expect_same_bits(d, want, "d");
}

TEST_P(GroupedProducts, OfBf16ContractionsAreDenseProducts) {
  const auto [m, n] = GetParam();
  const auto x = random_bf16("x", rows_ * m);
  const auto y = random_bf16("y", rows_ * n);
  const auto rows_of = [](const std::vector<bf16>& values, Index first) {
    return GemmOperand{.data = values.data() + first, .transposed = true};
  };
  std::vector<float> d(static_cast<std::size_t>(experts_ * m * n), 1.0F);
  std::vector<float> want = d;
  run_one(*cpu_, ops::GroupedWgrad{rows_of(x, 0), rows_of(y, 0), split_.groups(), d.data(), m, n, DType::f32, true,
                                   Accumulation::full});
  for (Index e = 0; e < experts_; ++e) {
    const Index first = split_.first(e);
    run_one(*cpu_, ops::Gemm{rows_of(x, first * m), rows_of(y, first * n), want.data() + e * m * n, m, n,
                             split_.rows(e), DType::f32, true, Accumulation::full});
  }
  expect_same_bits(d, want, "d");
}

INSTANTIATE_TEST_SUITE_P(Shapes, GroupedProducts,
                         testing::Values(ProductCase{16, 16}, ProductCase{72, 88}, ProductCase{37, 19},
                                         ProductCase{128, 256}, ProductCase{520, 40}, ProductCase{64, 1408}));

TEST(GroupedCasts, AreCastsOfOneGroupAfterAnother) {
  constexpr Index kDim = 200;
  const Split split = hostile_split();
  const auto cpu = ops::make_cpu_backend(2);
  const Index rows = split.offsets.back();
  const Index padded = split.padded();
  const auto x = random_bf16("x", rows * kDim);
  const auto amax = ops::reference::group_column_maxima(x, split.offsets, kDim);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(kDim * padded), 0xFF);
  std::vector<float> scale_inverse(amax.size());
  run_one(
      *cpu,
      ops::GatherRowsCast{
          x.data(), nullptr, split.groups(), {codes.data(), scale_inverse.data(), amax.data(), kRule, true}, 1, kDim});
  for (Index e = 0; e < split.groups().experts; ++e) {
    const Index of_group = split.rows(e);
    std::vector<std::uint8_t> want(static_cast<std::size_t>(kDim * of_group));
    std::vector<float> want_scales(kDim);
    const ops::CastLayout transposed{want.data(), want_scales.data(), ScaleAxis::row};
    run_one(
        *cpu,
        ops::Cast{
            x.data() + split.first(e) * kDim, nullptr, amax.data() + e * kDim, {}, transposed, kRule, of_group, kDim});
    for (Index col = 0; col < kDim; ++col) {
      EXPECT_EQ(scale_inverse[static_cast<std::size_t>(e * kDim + col)], want_scales[static_cast<std::size_t>(col)]);
      const std::uint8_t* got = codes.data() + col * padded + split.padded_offsets[static_cast<std::size_t>(e)];
      EXPECT_TRUE(std::equal(got, got + of_group, want.begin() + col * of_group))
          << "group " << e << ", column " << col;
    }
  }
}

}  // namespace
}  // namespace octet::test
