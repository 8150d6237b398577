// Every op against the double-precision oracle on simulated GPUs, codes byte by byte, with faults looked for.
#include "hip/simulated_fixture.h"

namespace octet::test {
namespace {

/// On a host that has both, each in its own format.
class HipOps : public SimulatedTest, public testing::WithParamInterface<const char*> {};

TEST_P(HipOps, AgreeWithTheOracle) {
  simulate("gfx942,gfx950");
  const bool is_gfx942 = GetParam() == std::string("gfx942");
  const Outcome outcome = octet({"selftest", "--device", is_gfx942 ? "hip:0" : "hip:1", "--rates", "none", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const nlohmann::json result = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(result.at("arch"), GetParam());
  EXPECT_EQ(result.at("fp8_format"), is_gfx942 ? "e4m3fnuz" : "e4m3fn");
  const nlohmann::json& ops = result.at("ops");
  EXPECT_EQ(ops.size(), 44U);
  for (const auto& op : ops) {
    EXPECT_EQ(op.at("verdict"), "ok") << op;
    EXPECT_GT(op.at("cases"), 0) << op;
  }
}

INSTANTIATE_TEST_SUITE_P(Processors, HipOps, testing::Values("gfx942", "gfx950"),
                         [](const auto& processor) { return std::string(processor.param); });

}  // namespace
}  // namespace octet::test
