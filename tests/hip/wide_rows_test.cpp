// The instances of row kernels that hold the most of a row in a thread's registers, where AMD's kernels once spilled:
// rows of more than 8192 elements, at multiples of 16 bytes and not, against the oracle.
#include "hip/counted_fixture.h"
#include "ops/selftest/checks/cast_checks.h"
#include "ops/selftest/checks/feed_forward_checks.h"
#include "ops/selftest/checks/norm_checks.h"

namespace octet::test {
namespace {

using namespace ops;  // NOLINT(google-build-using-namespace): the tests name ops and their checks
using selftest::Content;
using selftest::OpCheck;
using selftest::Trial;

class WideRows : public CountedTest, public testing::WithParamInterface<std::size_t> {
 protected:
  static constexpr std::int64_t kRows = 3;

  template <typename Op, typename Case>
  void expect_the_oracles(const Case& c) {
    Trial trial(gpu_.backend());
    OpCheck<Op>::run(trial, c);
    EXPECT_EQ(trial.failure(), "") << Op::name << ' ' << c.describe();
  }

 private:
  CountedGpu gpu_ = open_gpu(GetParam());
};

using TooWideRows = CountedTest;

TEST_P(WideRows, Casts) {
  for (const std::int64_t cols : {20000, 20003}) {
    expect_the_oracles<QuantizeRows>(
        selftest::CastCase{kRows, cols, rule(GetParam()).format(), true, Content::ordinary});
  }
}

TEST_P(WideRows, Norms) {
  for (const std::int64_t dim : {8200, 8203}) {
    const selftest::NormCase c{kRows, dim, true, rule(GetParam()), false, {true, true}};
    expect_the_oracles<RmsNormForward>(c);
    expect_the_oracles<RmsNormBackward>(c);
  }
}

TEST_P(WideRows, FeedForward) {
  for (const std::int64_t dim : {16400, 16403}) {
    selftest::SwigluCase c{kRows, dim, rule(GetParam()), false, {.rows = true}};
    expect_the_oracles<SwigluBackward>(c);
    c.measured.columns = true;
    expect_the_oracles<SwigluForward>(c);
  }
}

TEST_F(TooWideRows, ThatSharedMemoryHasNoRoomForAreRefused) {
  const CountedGpu gpu = open_gpu(0);
  SwigluBackward op{};
  op.rows = 3;
  op.dim = 28672;
  op.columns.wanted = true;
  const std::string message = user_error([&] { (void)gpu.backend().workspace_bytes(op); });
  EXPECT_TRUE(contains(message, "rows of 28672 elements take 114688 bytes")) << message;
  EXPECT_TRUE(contains(message, "of the 65536 that the GPU has")) << message;
}

INSTANTIATE_TEST_SUITE_P(Processors, WideRows, testing::Values(0, 1),
                         [](const auto& processor) { return std::string(kProcessors.at(processor.param)); });

}  // namespace
}  // namespace octet::test
