// Whole training steps on simulated GPUs, graphs and all, against the CPU's.
#include "hip/simulated_fixture.h"

namespace octet::test {
namespace {

class HipTraining : public SimulatedTest, public testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] std::vector<double> losses(const std::string& config, const std::string& run, const Words& more) {
    Words ten = train(run, join({set("training.steps=10"), {"--recipe", "rowwise"}, more}));
    ten.at(1) = OCTET_CONFIGS "/" + config;
    succeed(ten);
    std::vector<double> losses;
    for (const std::string& step : trajectory(run)) losses.push_back(nlohmann::json::parse(step).at("loss"));
    return losses;
  }

  /// On a host that has both, each in its own format.
  void expect_ten_steps_are_the_cpus(const std::string& config) {
    simulate("gfx942,gfx950");
    const bool is_gfx942 = GetParam() == std::string("gfx942");
    const std::vector<double> gpu = losses(config, "gpu", {"--device", is_gfx942 ? "hip:0" : "hip:1"});
    EXPECT_EQ(run_json("gpu").at("precision").at("format"), is_gfx942 ? "e4m3fnuz" : "e4m3fn");
    const std::vector<double> cpu = losses(config, "cpu", {"--fp8-format", is_gfx942 ? "fnuz" : "ocp"});
    ASSERT_EQ(gpu.size(), 10U);
    ASSERT_EQ(cpu.size(), 10U);
    for (std::size_t step = 0; step < gpu.size(); ++step) EXPECT_NEAR(gpu[step], cpu[step], 1e-3 * cpu[step]) << step;
    EXPECT_LT(gpu.back(), gpu.front());
  }
};

TEST_P(HipTraining, TenStepsAreTheCpus) {
  expect_ten_steps_are_the_cpus("llama3_debug.toml");
}

/// Latent attention, routing, products of groups. The simulator takes a minute and a half for each processor.
TEST_P(HipTraining, TenStepsOfDeepSeekAreTheCpus) {
  expect_ten_steps_are_the_cpus("deepseek_v3_debug.toml");
}

INSTANTIATE_TEST_SUITE_P(Processors, HipTraining, testing::Values("gfx942", "gfx950"),
                         [](const auto& processor) { return std::string(processor.param); });

}  // namespace
}  // namespace octet::test
