// The stand-in libamdhip64: what it exports, what it says of devices, how it takes its environment, errors.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "sim/hip_client.h"

namespace octet::sim {
namespace {

/// The names that api.h declares.
std::set<std::string> declared() {
  std::set<std::string> names;
  const std::vector<std::byte> bytes = file_bytes("sim/hip/api.h");
  std::istringstream lines(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t name = line.rfind(" hip", line.find('('));
    const bool is_declaration = line.rfind("hipError_t ", 0) == 0 || line.rfind("const char* ", 0) == 0;
    if (is_declaration && name != std::string::npos) names.insert(line.substr(name + 1, line.find('(') - name - 1));
  }
  return names;
}

TEST(HipDevices, ExportsWhatItDeclaresAndNothingElse) {
  FILE* pipe = popen("nm --dynamic --defined-only " OCTET_SIM_HIP, "r");
  ASSERT_NE(pipe, nullptr);
  std::set<std::string> exported;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr) {
    const std::string text = line.data();  // address, kind, name
    const std::size_t name = text.rfind(' ') + 1;
    exported.insert(text.substr(name, text.size() - 1 - name));
  }
  ASSERT_EQ(pclose(pipe), 0);
  EXPECT_EQ(exported, declared());
  EXPECT_GT(exported.size(), 90U);
  EXPECT_EQ(Hip().find("hipMemcpy3D"), nullptr);
}

/// Runs itself again, as LD_LIBRARY_PATH is read when a process begins: the second time as a client that knows a name.
TEST(HipDevices, IsFoundByItsName) {
  const std::filesystem::path directory = std::filesystem::path(OCTET_SIM_HIP).parent_path();
  const char* const searched = std::getenv("LD_LIBRARY_PATH");
  if (searched == nullptr || directory != searched) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string again = "LD_LIBRARY_PATH=" + directory.string() + " " + self +
                              " --gtest_filter=HipDevices.IsFoundByItsName > /dev/null 2>&1";
    EXPECT_EQ(std::system(again.c_str()), 0);
    return;
  }
  for (const char* name : {"libamdhip64.so.7", "libamdhip64.so"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto init = reinterpret_cast<decltype(&::hipInit)>(dlsym(library, "hipInit"));
    ASSERT_NE(init, nullptr);
    EXPECT_EQ(init(0), hipSuccess);
    EXPECT_EQ(dlclose(library), 0);
  }
}

/// Or a copy of it, by the name that tests give theirs.
bool is_loaded() {
  const std::vector<std::byte> bytes = file_bytes("/proc/self/maps");
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find("libamdhip64") !=
         std::string::npos;
}

TEST(HipDevices, ClosingTheLibraryUnloadsItAndEndsItsThreads) {
  EXPECT_FALSE(is_loaded());
  {
    const Hip hip(Hip::Environment{{"THREADS", "3"}});
    EXPECT_EQ(hip.started, hipSuccess);
    EXPECT_TRUE(is_loaded());
  }
  EXPECT_FALSE(is_loaded());
}

TEST(HipDevices, OneDeviceUnlessToldOtherwise) {
  const Hip hip;
  ASSERT_EQ(hip.started, hipSuccess);
  int value = -1;
  EXPECT_EQ(hip.hipGetDeviceCount(&value), hipSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(hip.hipGetDevice(&value), hipSuccess);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(hip.hipDeviceGet(&value, 0), hipSuccess);
  EXPECT_EQ(hip.hipDeviceGet(&value, 1), hipErrorInvalidDevice);
  EXPECT_EQ(hip.hipSetDevice(1), hipErrorInvalidDevice);
  EXPECT_EQ(hip.hipSetDevice(-1), hipErrorInvalidDevice);
  EXPECT_EQ(hip.hipInit(1), hipErrorInvalidValue);
  int driver = 0;
  int runtime = 0;
  EXPECT_EQ(hip.hipDriverGetVersion(&driver), hipSuccess);
  EXPECT_EQ(hip.hipRuntimeGetVersion(&runtime), hipSuccess);
  EXPECT_EQ(driver / 10'000'000, 7);
  EXPECT_EQ(driver, runtime);
  std::size_t bytes = 0;
  EXPECT_EQ(hip.hipDeviceTotalMem(&bytes, 0), hipSuccess);
  EXPECT_EQ(bytes, std::size_t{1} << 30);
}

struct Expected {
  const char* arch;
  const char* target;
  int major, minor;
  int units, lanes, lds, older_number;
};

TEST(HipDevices, PropertiesOfEachProcessorInBothLayouts) {
  const Hip hip(Hip::Environment{{"ARCH", "gfx942,gfx950,gfx90a,gfx940,gfx1100"}, {"MEMORY", "123456789"}});
  ASSERT_EQ(hip.started, hipSuccess);
  constexpr std::array kExpected = std::to_array<Expected>({
      {"gfx942", "gfx942:sramecc+:xnack-", 9, 4, 304, 64, 65536, 942},
      {"gfx950", "gfx950:sramecc+:xnack-", 9, 5, 256, 64, 163840, 950},
      {"gfx90a", "gfx90a:sramecc+:xnack-", 9, 0, 110, 64, 65536, 910},
      {"gfx940", "gfx940:sramecc+:xnack-", 9, 4, 228, 64, 65536, 940},
      {"gfx1100", "gfx1100", 11, 0, 48, 32, 65536, 1100},
  });
  for (int device = 0; device < static_cast<int>(kExpected.size()); ++device) {
    const Expected& expected = kExpected[static_cast<std::size_t>(device)];
    // Read at the offsets of ROCm's structs, not by their members.
    alignas(std::size_t) std::array<char, 1472> newer{};
    ASSERT_EQ(hip.hipGetDevicePropertiesR0600(reinterpret_cast<hipDeviceProp_tR0600*>(newer.data()), device),
              hipSuccess);
    const auto newer_int = [&](std::size_t offset) { return *reinterpret_cast<const int*>(newer.data() + offset); };
    const auto newer_size = [&](std::size_t offset) {
      return *reinterpret_cast<const std::size_t*>(newer.data() + offset);
    };
    EXPECT_STREQ(newer.data() + 1160, expected.target);
    EXPECT_EQ(newer_size(288), 123456789U);
    EXPECT_EQ(newer_size(296), static_cast<std::size_t>(expected.lds));
    EXPECT_EQ(newer_int(308), expected.lanes);
    EXPECT_EQ(newer_int(320), 1024);
    EXPECT_EQ(newer_int(360), expected.major);
    EXPECT_EQ(newer_int(364), expected.minor);
    EXPECT_EQ(newer_int(388), expected.units);
    EXPECT_GT(newer_int(616), 1 << 20);
    alignas(std::size_t) std::array<char, 792> older{};
    ASSERT_EQ(hip.hipGetDeviceProperties(reinterpret_cast<hipDeviceProp_tR0000*>(older.data()), device), hipSuccess);
    const auto older_int = [&](std::size_t offset) { return *reinterpret_cast<const int*>(older.data() + offset); };
    EXPECT_STREQ(older.data() + 396, expected.target);
    EXPECT_EQ(older_int(276), expected.lanes);
    EXPECT_EQ(older_int(336), expected.units);
    EXPECT_EQ(older_int(392), expected.older_number);
    EXPECT_STREQ(older.data(), newer.data());
    hipDeviceProp_tR0000 again{};
    EXPECT_EQ(hip.hipGetDevicePropertiesR0000(&again, device), hipSuccess);
    EXPECT_STREQ(again.gcnArchName, expected.target);
    std::array<char, 64> name{};
    EXPECT_EQ(hip.hipDeviceGetName(name.data(), static_cast<int>(name.size()), device), hipSuccess);
    EXPECT_STREQ(name.data(), newer.data());
    EXPECT_EQ(hip.hipDeviceGetName(name.data(), 4, device), hipSuccess);
    EXPECT_EQ(std::string(name.data()), std::string(newer.data()).substr(0, 3));
    int major = 0;
    int minor = 0;
    EXPECT_EQ(hip.hipDeviceComputeCapability(&major, &minor, device), hipSuccess);
    EXPECT_EQ(major * 100 + minor, expected.major * 100 + expected.minor);
  }
  hipDeviceProp_tR0600 properties{};
  EXPECT_EQ(hip.hipGetDevicePropertiesR0600(&properties, 5), hipErrorInvalidDevice);
  EXPECT_EQ(hip.hipGetDevicePropertiesR0600(nullptr, 0), hipErrorInvalidValue);
}

TEST(HipDevices, AttributesByTheirNumbers) {
  const Hip hip(Hip::Environment{{"ARCH", "gfx942,gfx950"}});
  const auto attribute = [&](std::uint32_t number, int device) {
    int value = -1;
    EXPECT_EQ(hip.hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(number), device), hipSuccess);
    return value;
  };
  EXPECT_EQ(attribute(87, 0), 64);          // WarpSize
  EXPECT_EQ(attribute(63, 0), 304);         // MultiprocessorCount
  EXPECT_EQ(attribute(63, 1), 256);         // MultiprocessorCount
  EXPECT_EQ(attribute(74, 0), 65536);       // MaxSharedMemoryPerBlock
  EXPECT_EQ(attribute(74, 1), 163840);      // MaxSharedMemoryPerBlock
  EXPECT_EQ(attribute(10002, 1), 163840);   // MaxSharedMemoryPerMultiprocessor
  EXPECT_EQ(attribute(56, 0), 1024);        // MaxThreadsPerBlock
  EXPECT_EQ(attribute(23, 0), 9);           // ComputeCapabilityMajor
  EXPECT_EQ(attribute(61, 1), 5);           // ComputeCapabilityMinor
  EXPECT_EQ(attribute(29, 0), 0x7FFFFFFF);  // MaxGridDimX
  int value = 0;
  EXPECT_EQ(hip.hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(4321), 0), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipDeviceGetAttribute(nullptr, hipDeviceAttributeWarpSize, 0), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 2), hipErrorInvalidDevice);
  std::array<char, 32> id{};
  EXPECT_EQ(hip.hipDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), 1), hipSuccess);
  EXPECT_STREQ(id.data(), "0000:02:00.0");
  EXPECT_EQ(hip.hipDeviceGetPCIBusId(id.data(), 12, 1), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipDeviceCanAccessPeer(&value, 0, 1), hipSuccess);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(hip.hipDeviceCanAccessPeer(&value, 0, 2), hipErrorInvalidDevice);
  int greatest = 0;
  EXPECT_EQ(hip.hipDeviceGetStreamPriorityRange(&value, &greatest), hipSuccess);
  EXPECT_GT(value, greatest);
}

TEST(HipDevices, AMachineWithoutDevices) {
  const Hip hip(Hip::Environment{{"ARCH", "none"}});
  EXPECT_EQ(hip.started, hipErrorNoDevice);
  int count = -1;
  EXPECT_EQ(hip.hipGetDeviceCount(&count), hipErrorNoDevice);
  EXPECT_EQ(count, 0);
  void* pointer = nullptr;
  EXPECT_EQ(hip.hipMalloc(&pointer, 16), hipErrorNoDevice);
}

TEST(HipDevices, AWrongEnvironmentIsOneLineAndFails) {
  struct Wrong {
    Hip::Environment environment;
    const char* part;
  };
  const std::vector<Wrong> cases{
      {{{"ARCH", "gfx941"}}, "CDNA_SIM_ARCH=gfx941: there is no 'gfx941'"},
      {{{"ARCH", "gfx942,"}}, "there is no ''"},
      {{{"ARCH", ""}}, "there is no ''"},
      {{{"ARCH", "gfx942,gfx942,gfx942,gfx942,gfx942,gfx942,gfx942,gfx942,gfx942"}}, "names 9 devices"},
      {{{"MEMORY", "1G"}}, "CDNA_SIM_MEMORY=1G is not valid"},
      {{{"MEMORY", "0"}}, "CDNA_SIM_MEMORY=0 is not valid"},
      {{{"THREADS", "-1"}}, "CDNA_SIM_THREADS=-1 is not valid"},
      {{{"THREADS", "4097"}}, "from 1 to 4096"},
      {{{"CHECK", "yes"}}, "CDNA_SIM_CHECK=yes is not valid: give 0 or 1"},
      {{{"COUNTS", "/nowhere/counts"}}, "CDNA_SIM_COUNTS=/nowhere/counts cannot be written"},
      {{{"TRAFFIC", "1"}}, "CDNA_SIM_TRAFFIC=1 counts into no file"},
      {{{"ERRORS", "/nowhere/errors"}}, "cannot be written"},
      {{{"THREAD", "1"}}, "CDNA_SIM_THREAD means nothing"},
  };
  for (const Wrong& wrong : cases) {
    testing::internal::CaptureStderr();
    const Hip hip(wrong.environment);
    int count = 0;
    EXPECT_EQ(hip.hipGetDeviceCount(&count), hipErrorNotInitialized);
    const std::string message = testing::internal::GetCapturedStderr();
    EXPECT_EQ(hip.started, hipErrorNotInitialized) << wrong.part;
    EXPECT_EQ(message.rfind("cdna-sim: ", 0), 0U) << message;
    EXPECT_NE(message.find(wrong.part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), message.size() - 1) << message;  // one line, once
  }
}

TEST(HipDevices, ErrorsHaveNamesAndAreKeptForEachThread) {
  const Hip hip;
  EXPECT_STREQ(hip.hipGetErrorName(hipErrorNoBinaryForGpu), "hipErrorNoBinaryForGpu");
  EXPECT_STREQ(hip.hipGetErrorName(static_cast<hipError_t>(700)), "hipErrorIllegalAddress");
  EXPECT_STREQ(hip.hipGetErrorName(static_cast<hipError_t>(12345)), "hipErrorUnknown");
  EXPECT_STREQ(hip.hipGetErrorString(hipSuccess), "success");
  const char* text = nullptr;
  EXPECT_EQ(hip.hipDrvGetErrorName(hipErrorLaunchFailure, &text), hipSuccess);
  EXPECT_STREQ(text, "hipErrorLaunchFailure");
  EXPECT_EQ(hip.hipDrvGetErrorString(hipErrorLaunchFailure, &text), hipSuccess);
  EXPECT_STREQ(text, "a kernel failed");
  EXPECT_EQ(hip.hipDrvGetErrorName(static_cast<hipError_t>(12345), &text), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipDrvGetErrorString(hipSuccess, nullptr), hipErrorInvalidValue);

  EXPECT_EQ(hip.hipGetLastError(), hipSuccess);
  EXPECT_EQ(hip.hipSetDevice(7), hipErrorInvalidDevice);
  EXPECT_EQ(hip.hipSetDevice(0), hipSuccess);  // as of HIP 7, success does not hide it
  std::thread([&] { EXPECT_EQ(hip.hipPeekAtLastError(), hipSuccess); }).join();
  EXPECT_EQ(hip.hipPeekAtLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hip.hipGetLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hip.hipGetLastError(), hipSuccess);
}

TEST(HipDevices, EachThreadHasADeviceOfItsOwn) {
  const Hip hip(Hip::Environment{{"ARCH", "gfx942,gfx950"}});
  EXPECT_EQ(hip.hipSetDevice(1), hipSuccess);
  int device = -1;
  std::thread([&] { EXPECT_EQ(hip.hipGetDevice(&device), hipSuccess); }).join();
  EXPECT_EQ(device, 0);
  EXPECT_EQ(hip.hipGetDevice(&device), hipSuccess);
  EXPECT_EQ(device, 1);
}

}  // namespace
}  // namespace octet::sim
