// Machines without a usable GPU: no driver, a broken or an old one, no device. What needs none goes on.
#include "gpu/standin_fixture.h"

namespace octet::test {
namespace {

class NoGpu : public StandInTest {
 protected:
  /// Training on the GPU is refused with `parts`, octet info says the same, and the CPU trains.
  void expect_refused(const Words& parts) {
    refuses(train_on_gpu("run"), parts);
    refuses(train_on_gpu("run", {"--dry-run"}), parts);
    refuses({"selftest", "--device", "cuda"}, parts);
    const std::string reason = reason_left_out("cuda");
    for (const std::string& part : parts) EXPECT_TRUE(contains(reason, part));
    succeed(train("on_the_cpu", set("training.steps=1")));
  }
};

TEST_F(NoGpu, NoDriver) {
  set_environment("LD_LIBRARY_PATH", path("").string());
  if (!contains(reason_left_out("cuda"), "there is no libcuda.so.1")) GTEST_SKIP() << "this machine has a driver";
  expect_refused({"there is no libcuda.so.1", "install NVIDIA's driver", "run on the CPU"});
}

TEST_F(NoGpu, ATextForADriver) {
  set_environment("LD_LIBRARY_PATH", text_for_library("libcuda.so.1"));
  expect_refused({"libcuda.so.1 cannot be loaded", "invalid ELF header", "install NVIDIA's driver"});
}

TEST_F(NoGpu, AnEmptyFileForADriver) {
  write("libcuda.so.1", "");
  set_environment("LD_LIBRARY_PATH", path("").string());
  expect_refused({"libcuda.so.1 cannot be loaded", "file too short", "install NVIDIA's driver"});
}

TEST_F(NoGpu, ADriverWithoutFunctions) {
  set_environment("LD_LIBRARY_PATH", stand_in("hollow"));
  expect_refused({"/hollow/libcuda.so.1 has no cuDriverGetVersion", "too old or damaged"});
}

TEST_F(NoGpu, AnOldDriver) {
  set_environment("OCTET_STANDIN_DRIVER", "11040");
  expect_refused({"/driver/libcuda.so.1 is of CUDA 11.4", "the kernels need 1", ".0 or newer", "run on the CPU"});
}

TEST_F(NoGpu, ADriverWithoutDevices) {
  set_environment("OCTET_STANDIN_GPUS", "0");
  expect_refused({"/driver/libcuda.so.1 sees no GPU", "nvidia-smi"});
}

/// The real one says it so where no device is visible.
TEST_F(NoGpu, ADriverThatStartsWithoutDevices) {
  set_environment("OCTET_STANDIN_INIT", "100");
  set_environment("CUDA_VISIBLE_DEVICES", "7");
  expect_refused({"/driver/libcuda.so.1 sees no GPU", "CUDA_VISIBLE_DEVICES is \"7\""});
}

TEST_F(NoGpu, ADriverThatDoesNotStart) {
  set_environment("OCTET_STANDIN_INIT", "802");
  expect_refused({"does not start", "CUDA_ERROR_SYSTEM_NOT_READY", "nvidia-fabricmanager"});
  set_environment("OCTET_STANDIN_INIT", "34");
  refuses(train_on_gpu("run"), {"does not start", "CUDA_ERROR_STUB_LIBRARY", "LD_LIBRARY_PATH"});
  set_environment("OCTET_STANDIN_INIT", "999");
  refuses(train_on_gpu("run"), {"does not start", "nvidia-smi", "dmesg"});
}

}  // namespace
}  // namespace octet::test
