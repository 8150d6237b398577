// Every op against the double-precision oracle on simulated GPUs, codes byte by byte, with faults looked for.
#include "hip/simulated_fixture.h"

namespace octet::test {
namespace {

class HipOps : public SimulatedTest, public testing::WithParamInterface<const char*> {};

TEST_P(HipOps, AgreeWithTheOracle) {
  simulate(GetParam());
  const Outcome outcome = octet({"selftest", "--device", "hip", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const nlohmann::json ops = nlohmann::json::parse(outcome.out).at("ops");
  EXPECT_EQ(ops.size(), 26U);
  for (const auto& op : ops) {
    EXPECT_EQ(op.at("verdict"), "ok") << op;
    EXPECT_GT(op.at("cases"), 0) << op;
  }
}

INSTANTIATE_TEST_SUITE_P(Processors, HipOps, testing::Values("gfx942", "gfx950"),
                         [](const auto& processor) { return std::string(processor.param); });

}  // namespace
}  // namespace octet::test
