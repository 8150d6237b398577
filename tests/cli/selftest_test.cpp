// octet selftest on the CPU: every op passes, rates hang together, and one that cannot be true is noticed.
#include <algorithm>
#include <limits>
#include <map>

#include "cli/cli_fixture.h"
#include "cli/rate_ceilings.h"

namespace octet::test {
namespace {

using Selftest = CliTest;
using Json = nlohmann::json;

TEST_F(Selftest, JsonHasEveryOpAndRate) {
  const Json result = json_of({"selftest", "--json"});
  EXPECT_EQ(result.at("version"), 1);
  EXPECT_EQ(result.at("backend"), "cpu");
  EXPECT_EQ(result.at("arch"), "");
  EXPECT_EQ(result.at("fp8_format"), "e4m3fn");
  EXPECT_EQ(result.at("good"), true);
  EXPECT_GT(result.at("ops").size(), 10U);
  for (const Json& op : result.at("ops")) EXPECT_EQ(op.at("verdict"), "ok") << op;

  std::map<std::string, int> kinds;
  std::map<std::string, Json> rates;
  double copy = 0;
  for (const Json& rate : result.at("rates")) {
    ++kinds[rate.at("kind").get<std::string>()];
    rates[rate.at("what").get<std::string>()] = rate;
    EXPECT_EQ(rate.at("doubt"), "") << rate;
    const bool computed = rate.contains("flops");
    const double work = rate.at(computed ? "flops" : "bytes").get<double>();
    const double expected = work / rate.at("seconds").get<double>();
    EXPECT_NEAR(rate.at(computed ? "flops_per_second" : "bytes_per_second").get<double>(), expected, 1e-9 * expected);
    if (rate.at("kind") == "copy") copy = expected;
    if (!computed) {
      EXPECT_NEAR(rate.at("share_of_copy").get<double>(), expected / copy, 1e-9 * expected / copy);
    }
  }
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"copy", 1}, {"cast", 3}, {"product", 15}, {"attention", 2}}));
  // The quick sizes: 512 tokens of a model 256 wide, casts of [2048, 448].
  for (const char* recipe : {"bf16", "tensorwise", "rowwise"}) {
    for (const char* role : {"forward", "dgrad", "wgrad"}) {
      EXPECT_EQ(rates.at(std::string(recipe) + " w13 " + role).at("flops"), 2.0 * 512 * 1792 * 256) << recipe << role;
    }
  }
  EXPECT_TRUE(contains(rates.at("tensorwise w13 dgrad").at("text").get<std::string>(),
                       "m 512, n 256, k 1792; e5m2 x e4m3fn -> bf16, one scale, full accumulation"));
  EXPECT_TRUE(contains(rates.at("bf16 w13 wgrad").at("text").get<std::string>(),
                       "m 1792, n 256, k 512; bf16 x bf16 -> f32, A transposed, B transposed"));
  EXPECT_EQ(rates.at("row cast").at("bytes"), 2048 * 448 * 3 + 2048 * 4);
  EXPECT_EQ(rates.at("transposing cast").at("bytes"), 2048 * 448 * 3 + (2048 + 448) * 2);
  EXPECT_EQ(rates.at("attention backward").at("flops"), 5.0 * 4 * 128 * 512 * 513);
}

TEST_F(Selftest, TextHasThemTooAndProgressIsApart) {
  const Outcome outcome = octet({"selftest"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"rate of ", "transposing cast ", "rowwise w13 wgrad ", "attention backward ",
                           "\nall ops agree with the oracle\n"}) {
    EXPECT_TRUE(contains(outcome.out, part));
  }
  EXPECT_EQ(outcome.err,
            "selftest: every op against the oracle\nselftest: rates of copies and casts\nselftest: rates of products\n"
            "selftest: rates of attention\n");
}

TEST_F(Selftest, WithoutRates) {
  const Outcome outcome = octet({"selftest", "--rates", "none"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("rate of"), std::string::npos);
  EXPECT_EQ(outcome.err, "selftest: every op against the oracle\n");
  refuses({"selftest", "--rates", "fast"}, {"--rates", "full"});
}

TEST(RateCeilings, ADoubtfulRateIsFound) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const cli::RateCeilings mi300 = cli::rate_ceilings("gfx942");
  EXPECT_EQ(cli::doubt_about(4e12, mi300.bytes), "");
  for (const double none : {0.0, -1.0, kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(contains(std::string(cli::doubt_about(none, mi300.bytes)), "no rate at all"));
  }
  EXPECT_TRUE(contains(std::string(cli::doubt_about(1400e12, mi300.bf16_flops)), "more than the data sheet's peak"));
  EXPECT_EQ(cli::doubt_about(1400e12, mi300.fp8_flops), "");
  EXPECT_EQ(cli::doubt_about(1e18, cli::rate_ceilings("").fp8_flops), "") << "no data sheet of a CPU";
}

}  // namespace
}  // namespace octet::test
