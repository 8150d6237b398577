// A GPU that fails during a run: one line names error, op and checkpoint, and nothing that was saved is lost.
#include "gpu/standin_fixture.h"
#include "io/files.h"
#include "io/safetensors.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLaunchFailed = "CUDA_ERROR_LAUNCH_FAILED";
constexpr const char* kIllegalAddress = "CUDA_ERROR_ILLEGAL_ADDRESS";

/// The debug model, 6 steps with a checkpoint every second one.
class MidRunFaults : public StandInTest {
 protected:
  static Words run(const Words& more = {}) { return train_on_gpu("run", join({set("checkpoint.interval=2"), more})); }

  /// The `launch`-th kernel whose name begins with `kernel` fails with `error`.
  void plan_fault(const std::string& kernel, int launch, const std::string& error = "719", bool late = false) {
    set_environment("OCTET_STANDIN_KERNEL", kernel);
    set_environment("OCTET_STANDIN_FAIL_LAUNCH", std::to_string(launch));
    set_environment("OCTET_STANDIN_ERROR", error);
    set_environment("OCTET_STANDIN_LATE", late ? "1" : "0");
  }

  /// One line on standard error with all of `parts`, exit code 1, and a run.json that says so. Returns the line.
  std::string expect_failure(const Words& words, const Words& parts) const {
    const Outcome outcome = octet(words);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("octet: failed: after ")) << outcome.err;
    for (const std::string& part : parts) EXPECT_TRUE(contains(outcome.err, part));
    EXPECT_EQ(run_json("run").at("status"), "failed");
    return outcome.err;
  }

  /// Every checkpoint is whole, the newest is of `step`, and the run goes on from it to its end.
  void expect_to_go_on(int step) {
    ASSERT_FALSE(checkpoints("run").empty());
    for (const fs::path& checkpoint : checkpoints("run")) {
      for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
        EXPECT_TRUE(SafetensorsFile::open(checkpoint / file).verify()) << checkpoint;
      }
    }
    const auto state = nlohmann::json::parse(read_file(checkpoints("run").back() / "state.json"));
    EXPECT_EQ(state.at("step"), step);
    set_environment("OCTET_STANDIN_FAIL_LAUNCH", "0");
    succeed(run({"--resume"}));
    EXPECT_EQ(run_json("run").at("status"), "finished");
  }

  /// Launches of such kernels in a step: a run of one step does not get to the next. None if it fails of something
  /// else.
  int launches_a_step(const std::string& kernel) {
    for (int launch = 1;; ++launch) {
      plan_fault(kernel, launch);
      const Outcome outcome = octet(train_on_gpu("count", set("training.steps=1")));
      fs::remove_all(path("count"));
      if (outcome.exit_code == 0) return launch - 1;
      if (contains(outcome.err, "launching " + kernel)) continue;
      ADD_FAILURE() << outcome.err;
      return 0;
    }
  }
};

TEST_F(MidRunFaults, TheStandInTrains) {
  succeed(run());
  EXPECT_EQ(metrics_lines("run"), 6U);
}

TEST_F(MidRunFaults, TheLastCheckpointStaysGood) {
  const int each = launches_a_step("adamw");
  ASSERT_GT(each, 0);
  plan_fault("adamw", 4 * each + 1);
  expect_failure(run(set("runtime.graphs=off")),
                 {"after 4 steps", "launching adamw", kLaunchFailed, "in adamw of tok_embeddings or an op before",
                  "runtime.synchronous = true", "the last checkpoint is run/checkpoints/", "--resume"});
  expect_to_go_on(4);
}

/// Three graphs a step, from the second step on: gradients, their norm, the optimizer.
TEST_F(MidRunFaults, AFaultInAReplayedStep) {
  set_environment("OCTET_STANDIN_FAIL_REPLAY", "10");
  expect_failure(run(), {"after 4 steps", kLaunchFailed, "in the gradient's norm or an op before it",
                         "runtime.synchronous = true", "the last checkpoint is run/checkpoints/", "--resume"});
  set_environment("OCTET_STANDIN_FAIL_REPLAY", "0");
  expect_to_go_on(4);
}

/// The second step is captured. A fault there is no matter of graphs.
TEST_F(MidRunFaults, AFaultInACapturedStep) {
  plan_fault("swiglu_forward", 3);
  const std::string line = expect_failure(run(), {"after 1 steps", "launching swiglu_forward", kLaunchFailed,
                                                  "in swiglu of layers.0 or an op before it", "--resume auto"});
  EXPECT_FALSE(contains(line, "runtime.graphs"));
}

TEST_F(MidRunFaults, ALaunchThatFailsNamesItsOpAndLayer) {
  plan_fault("swiglu_forward", 2);
  expect_failure(run(), {"launching swiglu_forward", kLaunchFailed, "in swiglu of layers.1 or an op before it"});
}

TEST_F(MidRunFaults, AFaultIsFoundAtTheNextWait) {
  plan_fault("swiglu_forward", 1, "700", true);
  expect_failure(run(), {"after 0 steps", "waiting", kIllegalAddress, "or an op before it",
                         "runtime.synchronous = true", "there is no checkpoint yet", "--resume auto"});
  set_environment("OCTET_STANDIN_FAIL_LAUNCH", "0");
  succeed(run({"--resume", "auto"}));
}

TEST_F(MidRunFaults, OpByOpTheSameFaultIsFoundInItsOp) {
  plan_fault("swiglu_forward", 1, "700", true);
  expect_failure(run(set("runtime.synchronous=true")), {"after 0 steps", kIllegalAddress, "in swiglu of layers.0;"});
}

TEST_F(MidRunFaults, OutsideOfLayersNoneIsNamed) {
  plan_fault("cross_entropy", 1);
  expect_failure(run(), {"in cross_entropy or an op before it"});
}

TEST_F(MidRunFaults, MemoryThatFails) {
  plan_fault("adamw", 1, "214", true);
  expect_failure(run(set("runtime.synchronous=true")), {"CUDA_ERROR_ECC_UNCORRECTABLE", "in adamw of "});
}

TEST_F(MidRunFaults, AProductThatFails) {
  set_environment("OCTET_STANDIN_FAIL_PRODUCT", "1");
  expect_failure(run(), {"cuBLASLt failed at a product", "CUBLAS_STATUS_EXECUTION_FAILED", "in gemm of layers.0"});
}

/// The weights of the beginning are cast before the first step.
TEST_F(MidRunFaults, BeforeTheFirstStep) {
  plan_fault("", 1);
  expect_failure(run({"--recipe", "rowwise"}), {"after 0 steps", kLaunchFailed, "there is no checkpoint yet"});
}

/// Weights travel to the device without an op, and each copy may be the first to hear of a fault. Of a new run the
/// first copy, a table, comes before there is a directory.
TEST_F(MidRunFaults, WhileWeightsAreSetOrRead) {
  succeed(run());
  set_environment("OCTET_STANDIN_ERROR", "700");
  for (const int upload : {1, 2, 3, 5, 8, 13, 21, 34}) {
    set_environment("OCTET_STANDIN_FAIL_UPLOAD", std::to_string(upload));
    for (const Words& words : {run({"--resume", "--set", "training.steps=8"}), train_on_gpu("another")}) {
      const Outcome outcome = octet(words);
      EXPECT_EQ(outcome.exit_code, 1) << upload;
      EXPECT_TRUE(contains(outcome.err, "octet: failed: after "));
      EXPECT_TRUE(contains(outcome.err, "copying to the device: CUDA_ERROR_ILLEGAL_ADDRESS"));
    }
    EXPECT_EQ(run_json("run").at("status"), "failed") << upload;
    ASSERT_EQ(fs::exists(path("another")), upload > 1);
    if (upload == 1) continue;
    EXPECT_EQ(run_json("another").at("status"), "failed") << upload;
    fs::remove_all(path("another"));
  }
}

TEST_F(MidRunFaults, ARunThatIsNotGoneOnWithIsLeftAlone) {
  succeed(run());
  set_environment("OCTET_STANDIN_FAIL_UPLOAD", "1");
  EXPECT_EQ(octet(run()).exit_code, 1);
  EXPECT_EQ(run_json("run").at("status"), "finished");
}

/// A token at a time, although FP8 products come in sixteens of rows.
TEST_F(MidRunFaults, ARunInFp8WritesText) {
  for (const char* recipe : {"rowwise", "tensorwise"}) {
    succeed(run({"--recipe", recipe}));
    succeed({"generate", "run", "--prompt", "abc", "--tokens", "4"});
    fs::remove_all(path("run"));
  }
}

TEST_F(MidRunFaults, GenerateNamesTheOpToo) {
  succeed(run({"--recipe", "bf16"}));
  plan_fault("attention_decode", 1);
  const Outcome outcome = octet({"generate", "run", "--prompt", "a"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(contains(outcome.err, "octet: failed: the GPU failed at launching attention_decode"));
  EXPECT_TRUE(contains(outcome.err, "in attention_decode of layers.0"));
}

}  // namespace
}  // namespace octet::test
