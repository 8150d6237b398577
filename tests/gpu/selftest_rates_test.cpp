// octet selftest on a GPU whose clock stands still, or whose kernels do nothing: neither passes for a good one.
#include "gpu/standin_fixture.h"

namespace octet::test {
namespace {

using SelftestRates = StandInTest;

TEST_F(SelftestRates, AClockThatStandsStillGivesNoRates) {
  set_environment("OCTET_STANDIN_ELAPSED_MS", "0");
  const Outcome outcome = octet({"selftest", "--device", "cuda", "--rates", "quick", "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const auto result = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(result.at("good"), false);
  EXPECT_EQ(result.at("arch"), "sm_90");
  EXPECT_GT(result.at("rates").size(), 10U);
  for (const auto& rate : result.at("rates")) {
    EXPECT_TRUE(contains(rate.at("doubt").get<std::string>(), "no rate at all")) << rate;
  }
}

}  // namespace
}  // namespace octet::test
