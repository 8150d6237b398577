// What the casts of a mixture of experts move on AMD's GPUs: rows that are gathered by expert, SwiGLU's results, and
// their transposed codes with scales for each expert. Counts are the simulator's, as in traffic_test.cpp.
#include <numeric>

#include "hip/least_traffic.h"

namespace octet::test {
namespace {

constexpr std::int64_t kExperts = 4;
constexpr std::int64_t kRows = 1024;
constexpr std::int64_t kCols = 512;

class GroupedTraffic : public CountedTest, public testing::WithParamInterface<std::size_t> {
 protected:
  GroupedTraffic() {
    // A multiple of the 128 rows each that column codes are cut into: nothing is padded.
    groups_.experts = kExperts;
    groups_.rows = kRows;
    groups_.offsets = gpu_.upload(std::vector<std::int32_t>{0, 256, 512, 768, 1024});
    groups_.padded_offsets = groups_.offsets;
    std::vector<std::int32_t> choices(kRows);
    std::iota(choices.begin(), choices.end(), 0);
    choice_of_row_ = gpu_.upload(choices);
    weights_ = gpu_.upload(std::vector<float>(kRows, 0.5F));
  }

  [[nodiscard]] ops::RowCodes row_codes(std::int64_t cols) {
    return {gpu_.room<std::uint8_t>(kRows * cols), gpu_.room<float>(kRows), nullptr, rule(GetParam()), true};
  }
  [[nodiscard]] ops::GroupMaxima maxima(std::int64_t cols) {
    return {.amax = gpu_.room<bf16>(kExperts * cols), .wanted = true};
  }
  [[nodiscard]] ops::GroupCodes column_codes(std::int64_t cols) {
    return {.codes = gpu_.room<std::uint8_t>(cols * ops::padded_rows(kRows, kExperts)),
            .scale_inverse = gpu_.room<float>(kExperts * cols),
            .amax = gpu_.upload(values(kExperts * cols)),
            .rule = rule(GetParam()),
            .wanted = true};
  }
  [[nodiscard]] const bf16* matrix(std::int64_t cols) { return gpu_.upload(values(kRows * cols)); }

  CountedGpu gpu_ = open_gpu(GetParam());
  ops::Groups groups_;
  const std::int32_t* choice_of_row_ = nullptr;
  const float* weights_ = nullptr;
};

TEST_P(GroupedTraffic, CastsByRow) {
  expect_least_traffic(
      gpu_, ops::GatherRows{matrix(kCols), choice_of_row_, groups_, nullptr, row_codes(kCols), {}, 1, kCols, false},
      "gathered");
  expect_least_traffic(
      gpu_,
      ops::GroupedSwigluForward{
          matrix(2 * kCols), weights_, choice_of_row_, groups_, nullptr, row_codes(kCols), {}, kCols, false},
      "codes alone");
  expect_least_traffic(gpu_,
                       ops::GroupedSwigluBackward{matrix(2 * kCols),
                                                  matrix(kCols),
                                                  weights_,
                                                  choice_of_row_,
                                                  groups_,
                                                  nullptr,
                                                  gpu_.room<float>(kRows),
                                                  row_codes(2 * kCols),
                                                  {},
                                                  kCols,
                                                  false},
                       "codes alone");
}

TEST_P(GroupedTraffic, CastsByColumnOfEachGroup) {
  expect_least_traffic(gpu_, ops::GatherRowsCast{matrix(kCols), choice_of_row_, groups_, column_codes(kCols), 1, kCols},
                       "transposed");
  expect_least_traffic(gpu_,
                       ops::GroupedSwigluCast{matrix(2 * kCols), matrix(kCols), weights_, choice_of_row_, groups_,
                                              column_codes(2 * kCols), column_codes(kCols), kCols},
                       "three matrices");
}

INSTANTIATE_TEST_SUITE_P(Processors, GroupedTraffic, testing::Values(0, 1),
                         [](const auto& processor) { return std::string(kProcessors.at(processor.param)); });

}  // namespace
}  // namespace octet::test
