// What is said of an AMD GPU, or of its runtime, that fails: one line, with the launch at fault where there is one.
#include <regex>

#include "hip/simulated_fixture.h"

namespace octet::test {
namespace {

class HipFaults : public SimulatedTest {
 protected:
  void SetUp() override {
    SimulatedTest::SetUp();
    set_environment("LD_LIBRARY_PATH", OCTET_FAULTY_HIP "/faulty");
  }

  /// The `launch`-th kernel whose name begins with `kernel` fails with `error`.
  void plan_fault(const std::string& kernel, int launch, const std::string& error) {
    set_environment("OCTET_STANDIN_KERNEL", kernel);
    set_environment("OCTET_STANDIN_FAIL_LAUNCH", std::to_string(launch));
    set_environment("OCTET_STANDIN_ERROR", error);
  }

  /// The one line of a run that must fail, with exit code 1 and a run.json that says so.
  [[nodiscard]] std::string failure(const Words& words) const {
    const Outcome outcome = octet(words);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(run_json("run").at("status"), "failed");
    return outcome.err;
  }
};

TEST_F(HipFaults, ALaunchThatFailsNamesKernelGridAndArguments) {
  plan_fault("swiglu_forward", 2, "719");
  const std::string line = failure(train("run", {"--device", "hip", "--recipe", "rowwise"}));
  const std::regex launch(
      "octet: failed: after 0 steps.*the GPU failed at launching swiglu_forward_e4m3fnuz_[0-9]+ of [1-9][0-9]* x 1 "
      "blocks, [1-9][0-9]* threads, [0-9]+ bytes of LDS, [1-9][0-9]* bytes of arguments: hipErrorLaunchFailure \\(a "
      "kernel failed\\), in swiglu of layers\\.1 or an op before it.*\n");
  EXPECT_TRUE(std::regex_match(line, launch)) << line;
}

TEST_F(HipFaults, AFaultLaterOnLeavesTheLastCheckpoint) {
  plan_fault("cross_entropy", 2, "700");
  const Words run = train("run", join({{"--device", "hip"}, set("checkpoint.interval=1"), set("runtime.graphs=off")}));
  const std::string line = failure(run);
  for (const char* part :
       {"after 1 steps", "launching cross_entropy", "hipErrorIllegalAddress (", "in cross_entropy or an op before it",
        "the last checkpoint is run/checkpoints/step-00000001"}) {
    EXPECT_TRUE(contains(line, part));
  }
}

TEST_F(HipFaults, ARuntimeThatTakesNoCodeObject) {
  set_environment("OCTET_STANDIN_LOAD", "209");
  for (const Words& words : {Words{"selftest", "--device", "hip"}, train("run", {"--device", "hip"})}) {
    refuses(words, {"(gfx942)", "takes no code object", "hipErrorNoBinaryForGpu", "run on the CPU"});
  }
}

TEST_F(HipFaults, ARuntimeWithoutFunctions) {
  set_environment("LD_LIBRARY_PATH", OCTET_FAULTY_HIP "/hollow");
  refuses({"selftest", "--device", "hip"}, {"/hollow/libamdhip64.so.7 has no hipInit", "too old or damaged"});
}

}  // namespace
}  // namespace octet::test
