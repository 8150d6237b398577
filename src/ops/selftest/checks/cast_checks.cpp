// Casts against the rule in src/fp8, byte by byte.
#include "ops/selftest/checks/cast_checks.h"

#include <limits>

namespace octet::ops::selftest {
namespace {

void check_quantize_tensor(Trial& trial, const CastCase& c, bool as_stored, bool transposed) {
  const Index count = c.rows * c.cols;
  const auto x = make_content(c.content, count);
  const auto codes = trial.output<std::uint8_t>("codes", as_stored ? count : 0);
  const auto codes_transposed = trial.output<std::uint8_t>("codes_transposed", transposed ? count : 0);
  const auto scale_inverse = trial.output<float>("scale_inverse", 1);
  trial.run(QuantizeTensor{trial.input("x", x), as_stored ? codes.data() : nullptr,
                           transposed ? codes_transposed.data() : nullptr, scale_inverse.data(), c.format, c.rule(),
                           c.rows, c.cols});

  const reference::Codes want = reference::quantize_tensor(x, c.rule());
  trial.expect_same<float>("scale_inverse", scale_inverse, want.scale_inverse);
  if (as_stored) trial.expect_same<std::uint8_t>("codes", codes, want.codes);
  if (transposed) {
    trial.expect_same<std::uint8_t>("codes_transposed", codes_transposed,
                                    reference::transpose<std::uint8_t>(want.codes, c.rows, c.cols));
  }
}

/// Powers of two, so that scaling is exact; small enough that ordinary values saturate. The first is what a row with an
/// infinity has.
std::vector<float> make_scales(Index count) {
  std::vector<float> scale_inverse(count);
  for (Index i = 0; i < count; ++i) scale_inverse[i] = std::ldexp(1.0F, -static_cast<int>(i % 15));
  if (count > 1) scale_inverse[0] = std::numeric_limits<float>::infinity();
  return scale_inverse;
}

void check_cast_statistics(Trial& trial, const CastCase& c, bool one_scale) {
  const auto x = make_content(c.content, c.rows * c.cols);
  const auto scale_inverse = one_scale ? std::vector<float>{0x1p-8F} : make_scales(c.rows);
  const auto saturated = trial.updated("saturated", std::vector<std::uint64_t>{0});
  const auto overflowed = trial.updated("overflowed", std::vector<std::uint64_t>{0});
  trial.run(CastStatistics{trial.input("x", x), trial.input("scale_inverse", scale_inverse), saturated.data(),
                           overflowed.data(), c.format, c.rows, c.cols, one_scale});

  const auto want = reference::cast_statistics(x, scale_inverse, c.format, c.rows, c.cols);
  trial.expect_same<std::uint64_t>("saturated", saturated, {want.saturated});
  trial.expect_same<std::uint64_t>("overflowed", overflowed, {want.overflowed});
}

}  // namespace

void OpCheck<QuantizeRows>::run(Trial& trial, const CastCase& c) {
  const auto x = make_content(c.content, c.rows * c.cols);
  const RowCodes codes = trial.row_codes(c.rule(), c.rows, c.cols);
  trial.run(QuantizeRows{trial.input("x", x), codes, c.rows, c.cols});
  trial.expect_row_codes(codes, x, c.rows, c.cols);
}

void OpCheck<QuantizeColumns>::run(Trial& trial, const CastCase& c) {
  const auto x = make_content(c.content, c.rows * c.cols);
  const RowCodes codes = trial.row_codes(c.rule(), c.cols, c.rows);
  trial.run(QuantizeColumns{trial.input("x", x), codes, c.rows, c.cols});
  trial.expect_row_codes(codes, reference::transpose<bf16>(x, c.rows, c.cols), c.cols, c.rows);
}

void OpCheck<QuantizeTensor>::run(Trial& trial, const CastCase& c) {
  check_quantize_tensor(trial, c, true, true);
  check_quantize_tensor(trial, c, true, false);
  check_quantize_tensor(trial, c, false, true);
}

void OpCheck<CastStatistics>::run(Trial& trial, const CastCase& c) {
  check_cast_statistics(trial, c, false);
  check_cast_statistics(trial, c, true);
}

}  // namespace octet::ops::selftest
