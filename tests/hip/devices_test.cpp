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
  const auto& gfx942 = info.at("devices").at(1);
  EXPECT_EQ(gfx942.at("fp8_format_reason"), "gfx942 multiplies no other e4m3");
  EXPECT_EQ(gfx942.at("warp_size"), 64);
  EXPECT_EQ(gfx942.at("shared_memory_bytes"), 65536);
  EXPECT_EQ(info.at("devices").at(2).at("shared_memory_bytes"), 163840);
  const std::string text = succeed({"info"});
  EXPECT_TRUE(contains(text, "FP8 formats: e4m3fnuz; \"auto\" is e4m3fnuz: gfx942 multiplies no other e4m3\n"));
  EXPECT_TRUE(contains(text, "warps of 64 lanes, 64.00 KiB of shared memory (LDS) for a block\n"));
}

/// Until a line of src/ops/gpu/verified_hardware.h says otherwise.
TEST_F(HipDevices, TrainingSaysThatTheHardwareIsNotVerified) {
  simulate("gfx942,gfx950");
  const std::string notice = " is not verified on hardware: run octet selftest --device hip:1 first; see docs/amd.md\n";
  const Words run = train("run", {"--device", "hip:1", "--set", "training.steps=1"});
  EXPECT_TRUE(contains(succeed(run), "\nunverified  hip gfx950" + notice));
  EXPECT_EQ(run_json("run").at("machine").at("device_verified"), false);
  EXPECT_TRUE(contains(succeed({"info"}), "\n          hip gfx950" + notice));
  const nlohmann::json info = json_of({"info", "--json"});
  for (const auto& device : info.at("devices")) {
    const bool is_cpu = device.at("name") == "cpu";
    EXPECT_EQ(device.at("verified"), is_cpu) << device;
    const auto text = device.at("verification").get<std::string>();
    EXPECT_EQ(text.find("is not verified on hardware") == std::string::npos, is_cpu) << device;
  }
}

TEST_F(HipDevices, GpusWithoutKernelsAreRefusedByName) {
  const std::map<std::string, std::string> reasons{{"gfx940", "is an early MI300 that no kernel is compiled for"},
                                                   {"gfx90a", "has no FP8"},
                                                   {"gfx1100", "is not supported"}};
  for (const auto& [processor, reason] : reasons) {
    simulate(processor);
    refuses({"selftest", "--device", "hip"}, {"(" + processor + ")", reason, "gfx942", "gfx950", "run on the CPU"});
    const nlohmann::json left_out = json_of({"info", "--json"}).at("left_out").back();
    EXPECT_EQ(left_out.at("backend"), "hip:0");
    EXPECT_TRUE(contains(left_out.at("reason").get<std::string>(), reason));
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
  simulate("gfx942,gfx950");
  refuses(train("run", {"--device", "hip:1", "--recipe", "rowwise", "--fp8-format", "fnuz"}),
          {"precision.fp8_format = \"fnuz\" asks for e4m3fnuz, but device hip computes in e4m3fn"});
}

TEST_F(HipDevices, MoreMemoryThanThereIs) {
  set_environment("CDNA_SIM_MEMORY", "1000000");
  refuses(train("run", {"--device", "hip"}), {"are free on hip", "rocm-smi", "choose a smaller model or a larger GPU"});
}

}  // namespace
}  // namespace octet::test
