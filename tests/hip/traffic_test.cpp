// What the casts, and the producers that cast, move on AMD's GPUs: no more segments of memory than their bytes need, no
// more bytes than the op says, 16 bytes a lane. Host code, runtime interface and machine code are those of training;
// the counts are the simulator's.
#include "hip/least_traffic.h"

namespace octet::test {
namespace {

class Traffic : public CountedTest, public testing::WithParamInterface<std::size_t> {
 protected:
  static constexpr std::int64_t kRows = 256;
  static constexpr std::int64_t kCols = 4096;

  [[nodiscard]] ops::RowCodes row_codes() {
    return {gpu_.room<std::uint8_t>(kRows * kCols), gpu_.room<float>(kRows), nullptr, rule(GetParam()), true};
  }
  [[nodiscard]] ops::ColumnCodes column_codes(std::int64_t cols) {
    return {gpu_.room<std::uint8_t>(kRows * cols), gpu_.room<float>(cols), gpu_.upload(values(cols)), rule(GetParam()),
            true};
  }
  [[nodiscard]] const bf16* matrix(std::int64_t cols) { return gpu_.upload(values(kRows * cols)); }

  CountedGpu gpu_ = open_gpu(GetParam());
};

TEST_P(Traffic, CastsByRow) {
  expect_least_traffic(gpu_, ops::QuantizeRows{matrix(kCols), row_codes(), {}, kRows, kCols}, "rows");
}

TEST_P(Traffic, CastsUnderMaxima) {
  const bf16* x = matrix(kCols);
  const bf16* row_amax = gpu_.upload(values(kRows));
  const bf16* column_amax = gpu_.upload(values(kCols));
  const auto layout = [&](std::int64_t outer) {
    return ops::CastLayout{gpu_.room<std::uint8_t>(kRows * kCols), gpu_.room<float>(outer), ops::ScaleAxis::row};
  };
  const ops::Cast both{x, row_amax, column_amax, layout(kRows), layout(kCols), rule(GetParam()), kRows, kCols};
  ops::Cast stored = both;
  stored.transposed = {};
  ops::Cast transposed = both;
  transposed.as_stored = {};
  expect_least_traffic(gpu_, stored, "as stored");
  expect_least_traffic(gpu_, transposed, "transposed");
  expect_least_traffic(gpu_, both, "both layouts");
}

TEST_P(Traffic, ProducersThatCastTheirRows) {
  expect_least_traffic(gpu_,
                       ops::RmsNormForward{matrix(kCols),
                                           matrix(kCols),
                                           gpu_.upload(values(kCols)),
                                           gpu_.room<bf16>(kRows * kCols),
                                           gpu_.room<bf16>(kRows * kCols),
                                           gpu_.room<float>(kRows),
                                           row_codes(),
                                           {},
                                           kRows,
                                           kCols,
                                           1e-5F,
                                           true},
                       "with a residual", 2.0 * kRows * kCols);  // the weight, for each row
  expect_least_traffic(
      gpu_, ops::SwigluForward{matrix(2 * kCols), gpu_.room<bf16>(kRows * kCols), row_codes(), {}, kRows, kCols},
      "with codes");
}

TEST_P(Traffic, ProducersThatTransposeWhatTheyMakeAgain) {
  const std::vector<float> ones(kRows, 1.0F);
  constexpr double kTiles = kRows / 128.0 * (kCols / 64.0);
  constexpr double kFactors = kTiles * (128 * sizeof(float) + 4 * 64 * sizeof(bf16));  // rstd; the weight, by each wave
  expect_least_traffic(gpu_,
                       ops::RmsNormForwardCast{matrix(kCols), gpu_.upload(values(kCols)), gpu_.upload(ones),
                                               column_codes(kCols), kRows, kCols},
                       "transposed", kFactors);
  expect_least_traffic(gpu_,
                       ops::SwigluBackwardCast{matrix(2 * kCols), matrix(kCols), column_codes(2 * kCols), kRows, kCols,
                                               column_codes(kCols)},
                       "three matrices");
}

INSTANTIATE_TEST_SUITE_P(Processors, Traffic, testing::Values(0, 1),
                         [](const auto& processor) { return std::string(kProcessors.at(processor.param)); });

}  // namespace
}  // namespace octet::test
