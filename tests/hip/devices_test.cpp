// Which AMD GPUs are taken, in which format each computes, and what is said of the others.
#include "hip/simulated_fixture.h"

namespace octet::test {
namespace {

using HipDevices = SimulatedTest;

TEST_F(HipDevices, AHostWithBothKindsHasBothFormats) {
  simulate("gfx942,gfx950");
  const nlohmann::json info = json_of({"info", "--json"});
  std::map<std::string, std::string> formats;
  for (const auto& device : info.at("devices")) formats[device.at("name")] = device.at("fp8_format_auto");
  EXPECT_EQ(formats.at("hip:0"), "e4m3fnuz");
  EXPECT_EQ(formats.at("hip:1"), "e4m3fn");
}

TEST_F(HipDevices, GpusWithoutKernelsAreRefusedByName) {
  const std::map<std::string, std::string> reasons{{"gfx940", "is an early MI300 that no kernel is compiled for"},
                                                   {"gfx90a", "has no FP8"},
                                                   {"gfx1100", "is not supported"}};
  for (const auto& [processor, reason] : reasons) {
    simulate(processor);
    refuses({"selftest", "--device", "hip"}, {"(" + processor + ")", reason, "gfx942", "gfx950", "run on the CPU"});
  }
}

TEST_F(HipDevices, NoneAndTooFew) {
  simulate("none");
  refuses({"selftest", "--device", "hip"}, {"sees no GPU", "rocminfo", "run on the CPU"});
  simulate("gfx942,gfx950");
  refuses({"selftest", "--device", "hip:2"}, {"there is no hip:2", "sees 2 GPUs, hip:0 to hip:1"});
  set_environment("LD_LIBRARY_PATH", path("").string());
  refuses({"selftest", "--device", "hip"}, {"there is no libamdhip64.so.7", "install ROCm's HIP runtime"});
}

TEST_F(HipDevices, AFormatThatTheGpuLacks) {
  refuses(train("run", {"--device", "hip", "--recipe", "rowwise", "--fp8-format", "ocp"}),
          {"precision.fp8_format = \"ocp\" asks for e4m3fn, but device hip computes in e4m3fnuz"});
}

TEST_F(HipDevices, MoreMemoryThanThereIs) {
  set_environment("CDNA_SIM_MEMORY", "1000000");
  refuses(train("run", {"--device", "hip"}), {"are free on hip", "rocm-smi", "choose a smaller model or a larger GPU"});
}

}  // namespace
}  // namespace octet::test
