// The stand-in libamdhip64: code objects, kernels launched in every way, and what a kernel's fault does.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "sim/hip_client.h"

namespace octet::sim {
namespace {

using u8 = std::uint8_t;

class HipModules : public testing::TestWithParam<Generation> {
 protected:
  [[nodiscard]] Hip start(Hip::Environment more = {}) const {
    more.merge(environment(GetParam()));
    return Hip(more);
  }
  [[nodiscard]] static Generation other(Generation generation) {
    return generation == Generation::cdna3 ? Generation::cdna4 : Generation::cdna3;
  }
};

TEST_P(HipModules, AddVectorsWithAPointerToEachArgument) {
  constexpr u32 kCount = 1000;
  const Hip hip = start();
  std::vector<float> a(kCount);
  std::vector<float> b(kCount);
  for (u32 i = 0; i < kCount; ++i) {
    a[i] = static_cast<float>(i) * 0.37F;
    b[i] = static_cast<float>(i * i % 91);
  }
  float* const sums = upload(hip, std::vector<float>(kCount, -1));
  const hipFunction_t add = function_of(hip, load_module(hip, "basics", GetParam()), "vector_add");
  EXPECT_EQ(launch(hip, add, 4, nullptr, upload(hip, a), upload(hip, b), sums, kCount), hipSuccess);
  EXPECT_EQ(hip.hipDeviceSynchronize(), hipSuccess);
  const std::vector<float> got = download(hip, sums, kCount);
  for (u32 i = 0; i < kCount; ++i) ASSERT_EQ(got[i], a[i] + b[i]) << i;
}

struct Scaling {
  const float* in;
  float* out;
  u32 count;
  float factor;
};

TEST_P(HipModules, PassOneStructAsABuffer) {
  const Hip hip = start();
  const hipFunction_t scale = function_of(hip, load_module(hip, "modules", GetParam()), "scale");
  float* const out = upload(hip, std::vector<float>(300));
  Scaling arguments{upload(hip, std::vector<float>(300, 1.5F)), out, 300, 4};
  std::size_t size = sizeof(arguments);
  const auto tag = [](std::uintptr_t value) { return reinterpret_cast<void*>(value); };
  std::array<void*, 5> extra{tag(1), &arguments, tag(2), &size, tag(3)};
  const auto with_extra = [&](void** parameters) {
    return hip.hipModuleLaunchKernel(scale, 2, 1, 1, 256, 1, 1, 0, nullptr, parameters, extra.data());
  };
  EXPECT_EQ(with_extra(nullptr), hipSuccess);
  EXPECT_EQ(download(hip, out, 300), std::vector<float>(300, 6));
  arguments.factor = 2;
  void* pointer = &arguments;
  EXPECT_EQ(with_extra(&pointer), hipErrorInvalidValue);  // both ways at once
  EXPECT_EQ(hip.hipModuleLaunchKernel(scale, 2, 1, 1, 256, 1, 1, 0, nullptr, &pointer, nullptr), hipSuccess);
  EXPECT_EQ(download(hip, out, 300), std::vector<float>(300, 3));
  size = 20;
  EXPECT_EQ(with_extra(nullptr), hipErrorInvalidValue);
  size = 32;  // more than the kernel takes does no harm
  EXPECT_EQ(with_extra(nullptr), hipSuccess);
  extra[4] = nullptr;
  EXPECT_EQ(with_extra(nullptr), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipModuleLaunchKernel(scale, 2, 1, 1, 256, 1, 1, 0, nullptr, nullptr, nullptr), hipErrorInvalidValue);
}

TEST_P(HipModules, ExtendedLaunchesCountLanesAndRecordEvents) {
  const Hip hip = start();
  const hipFunction_t gather = function_of(hip, load_module(hip, "basics", GetParam()), "gather");
  std::vector<u32> values(512);
  for (u32 i = 0; i < 512; ++i) values[i] = i * i;
  const u32* in = upload(hip, values);
  u32* out = upload(hip, std::vector<u32>(512));
  u32 stride = 1;
  std::array<void*, 3> parameters{&in, &out, &stride};
  hipEvent_t begin = nullptr;
  hipEvent_t end = nullptr;
  EXPECT_EQ(hip.hipEventCreate(&begin), hipSuccess);
  EXPECT_EQ(hip.hipEventCreate(&end), hipSuccess);
  const auto launch_lanes = [&](u32 lanes) {
    return hip.hipExtModuleLaunchKernel(gather, lanes, 1, 1, 256, 1, 1, 0, nullptr, parameters.data(), nullptr, begin,
                                        end, 0);
  };
  EXPECT_EQ(launch_lanes(512), hipSuccess);
  EXPECT_EQ(download(hip, out, 512), values);
  float milliseconds = 0;
  EXPECT_EQ(hip.hipEventElapsedTime(&milliseconds, begin, end), hipSuccess);
  EXPECT_GT(milliseconds, 0.0F);
  EXPECT_EQ(launch_lanes(500), hipErrorInvalidValue);
}

TEST_P(HipModules, LdsOfTheLaunchsSize) {
  const Hip hip = start();
  const hipFunction_t reverse = function_of(hip, load_module(hip, "modules", GetParam()), "reverse");
  std::vector<u32> values(512);
  for (u32 i = 0; i < 512; ++i) values[i] = i;
  u32* device = upload(hip, values);
  void* parameter = &device;
  const auto with_lds = [&](unsigned bytes) {
    return hip.hipModuleLaunchKernel(reverse, 2, 1, 1, 256, 1, 1, bytes, nullptr, &parameter, nullptr);
  };
  EXPECT_EQ(with_lds(1024), hipSuccess);
  const std::vector<u32> got = download(hip, device, 512);
  for (u32 i = 0; i < 512; ++i) ASSERT_EQ(got[i], i / 256 * 256 + 255 - i % 256);
  const unsigned all = GetParam() == Generation::cdna3 ? 65536 : 163840;
  EXPECT_EQ(with_lds(all), hipSuccess);
  EXPECT_EQ(with_lds(all + 1), hipErrorInvalidValue);
}

TEST_P(HipModules, VariablesAreFoundByName) {
  const Hip hip = start();
  const hipModule_t module = load_module(hip, "modules", GetParam());
  hipDeviceptr_t address = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(hip.hipModuleGetGlobal(&address, &size, module, "addends"), hipSuccess);
  ASSERT_EQ(size, 16U);
  EXPECT_EQ(download(hip, static_cast<const u32*>(address), 4), (std::vector<u32>{1, 20, 300, 4000}));
  EXPECT_EQ(hip.hipMemsetD32(static_cast<u32*>(address) + 2, 7, 1), hipSuccess);
  u32* const values = upload(hip, std::vector<u32>(8, 100));
  EXPECT_EQ(launch(hip, function_of(hip, module, "add_addends"), 1, nullptr, values, 8U), hipSuccess);
  EXPECT_EQ(download(hip, values, 8), (std::vector<u32>{101, 120, 107, 4100, 101, 120, 107, 4100}));
  EXPECT_EQ(hip.hipModuleGetGlobal(&address, &size, module, "subtrahends"), hipErrorNotFound);
  EXPECT_EQ(hip.hipModuleGetGlobal(&address, &size, module, "scale"), hipErrorNotFound);  // a kernel is none
  EXPECT_EQ(hip.hipModuleGetGlobal(nullptr, nullptr, module, "addends"), hipErrorInvalidValue);
}

constexpr u32 kRows = 24;
constexpr u32 kColumns = 1024;

/// Rows of bf16, and what the simulator makes of them without HIP.
struct Cast {
  explicit Cast(Generation generation) : x(std::size_t{kRows} * kColumns) {
    std::mt19937 engine(11);
    for (std::uint16_t& bits : x) bits = static_cast<std::uint16_t>(engine() & 0xBFFFU);  // of less than 2
    Gpu gpu("training", generation);
    const u64 code_address = gpu.upload(std::vector<u8>(x.size()), "codes");
    const u64 scale_address = gpu.upload(std::vector<u32>(kRows), "scales");
    gpu.launch("quantize_rows", {{kRows, 1, 1}, {256, 1, 1}, 0}, gpu.upload(x, "x"), code_address, scale_address,
               kColumns);
    codes = gpu.download<u8>(code_address, x.size());
    scales = gpu.download<u32>(scale_address, kRows);
  }
  std::vector<std::uint16_t> x;  // [kRows, kColumns]
  std::vector<u8> codes;         // [kRows, kColumns]
  std::vector<u32> scales;       // [kRows], bits of floats
};

TEST_P(HipModules, RowCastGivesTheBitsOfTheSimulator) {
  const Cast expected(GetParam());
  const Hip hip = start();
  hipStream_t stream = nullptr;
  EXPECT_EQ(hip.hipStreamCreate(&stream), hipSuccess);
  const hipFunction_t cast = function_of(hip, load_module(hip, "training", GetParam()), "quantize_rows");
  u8* const codes = upload(hip, std::vector<u8>(expected.codes.size()));
  u32* const scales = upload(hip, std::vector<u32>(kRows));
  EXPECT_EQ(launch(hip, cast, kRows, stream, upload(hip, expected.x), codes, scales, kColumns), hipSuccess);
  EXPECT_EQ(hip.hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(download(hip, codes, expected.codes.size()), expected.codes);
  EXPECT_EQ(download(hip, scales, kRows), expected.scales);
}

TEST_P(HipModules, RowCastAsAGraphWithItsCopiesBetweenEvents) {
  const Cast expected(GetParam());
  const Hip hip = start();
  hipStream_t stream = nullptr;
  hipEvent_t begin = nullptr;
  hipEvent_t end = nullptr;
  EXPECT_EQ(hip.hipStreamCreate(&stream), hipSuccess);
  EXPECT_EQ(hip.hipEventCreate(&begin), hipSuccess);
  EXPECT_EQ(hip.hipEventCreate(&end), hipSuccess);
  const hipFunction_t cast = function_of(hip, load_module(hip, "training", GetParam()), "quantize_rows");
  const std::size_t count = expected.x.size();
  std::uint16_t* const x = upload(hip, std::vector<std::uint16_t>(count));
  u8* const codes = upload(hip, std::vector<u8>(count));
  u32* const scales = upload(hip, std::vector<u32>(kRows));
  std::vector<u8> back(count);
  EXPECT_EQ(hip.hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal), hipSuccess);
  EXPECT_EQ(hip.hipMemcpyAsync(x, expected.x.data(), 2 * count, hipMemcpyHostToDevice, stream), hipSuccess);
  EXPECT_EQ(launch(hip, cast, kRows, stream, x, codes, scales, kColumns), hipSuccess);
  EXPECT_EQ(hip.hipMemcpyAsync(back.data(), codes, count, hipMemcpyDeviceToHost, stream), hipSuccess);
  hipGraph_t graph = nullptr;
  hipGraphExec_t exec = nullptr;
  EXPECT_EQ(hip.hipStreamEndCapture(stream, &graph), hipSuccess);
  EXPECT_EQ(hip.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipSuccess);
  EXPECT_EQ(back, std::vector<u8>(count));
  EXPECT_EQ(hip.hipEventRecord(begin, stream), hipSuccess);
  EXPECT_EQ(hip.hipGraphLaunch(exec, stream), hipSuccess);
  EXPECT_EQ(hip.hipEventRecord(end, stream), hipSuccess);
  EXPECT_EQ(hip.hipEventSynchronize(end), hipSuccess);
  EXPECT_EQ(back, expected.codes);
  float milliseconds = 0;
  EXPECT_EQ(hip.hipEventElapsedTime(&milliseconds, begin, end), hipSuccess);
  EXPECT_GT(milliseconds, 0.0F);
}

TEST_P(HipModules, AttributesAndOccupancy) {
  const Hip hip = start();
  const hipFunction_t scratch = function_of(hip, load_module(hip, "basics", GetParam()), "permute_in_scratch");
  const hipFunction_t reduce = function_of(hip, load_module(hip, "basics", GetParam()), "reduce");
  const auto attribute = [&](hipFunction_t function, int number) {
    int value = -1;
    EXPECT_EQ(hip.hipFuncGetAttribute(&value, static_cast<hipFunction_attribute>(number), function), hipSuccess);
    return value;
  };
  const int lds = GetParam() == Generation::cdna3 ? 65536 : 163840;
  EXPECT_EQ(attribute(reduce, 0), 256);                                        // MAX_THREADS_PER_BLOCK
  EXPECT_EQ(attribute(reduce, 1), 16);                                         // SHARED_SIZE_BYTES
  EXPECT_EQ(attribute(reduce, 3), 0);                                          // LOCAL_SIZE_BYTES
  EXPECT_GE(attribute(scratch, 3), 96);                                        // LOCAL_SIZE_BYTES: an array of 24 words
  EXPECT_GT(attribute(reduce, 4), 0);                                          // NUM_REGS
  EXPECT_EQ(attribute(reduce, 6), GetParam() == Generation::cdna3 ? 94 : 95);  // BINARY_VERSION
  EXPECT_EQ(attribute(reduce, 8), lds - 16);                                   // MAX_DYNAMIC_SHARED_SIZE_BYTES
  hipFuncAttributes all{};
  EXPECT_EQ(hip.hipFuncGetAttributes(&all, reduce), hipSuccess);
  EXPECT_EQ(all.sharedSizeBytes, 16U);
  EXPECT_EQ(all.maxThreadsPerBlock, 256);
  EXPECT_EQ(hip.hipFuncGetAttributes(&all, &all), hipErrorInvalidDeviceFunction);
  EXPECT_EQ(hip.hipFuncSetAttribute(reduce, hipFuncAttributeMaxDynamicSharedMemorySize, lds - 16), hipSuccess);
  EXPECT_EQ(hip.hipFuncSetAttribute(reduce, hipFuncAttributeMaxDynamicSharedMemorySize, lds), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipFuncGetAttribute(nullptr, HIP_FUNC_ATTRIBUTE_NUM_REGS, reduce), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipFuncGetAttribute(&all.numRegs, HIP_FUNC_ATTRIBUTE_NUM_REGS, nullptr), hipErrorInvalidHandle);
  const auto blocks = [&](int lanes, std::size_t dynamic) {
    int value = -1;
    EXPECT_EQ(hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&value, reduce, lanes, dynamic), hipSuccess);
    return value;
  };
  EXPECT_EQ(blocks(256, 0), 8);  // 8 waves on each of 4 SIMDs, 4 to a block
  EXPECT_EQ(blocks(65, 0), 16);  // two waves
  EXPECT_EQ(blocks(256, 20'000), lds / 20'016);
}

TEST_P(HipModules, RefusesLaunchesByHipsCodes) {
  const Hip hip = start({{"ARCH", std::string(processor(GetParam())) + "," + std::string(processor(GetParam()))}});
  const hipModule_t module = load_module(hip, "basics", GetParam());
  const hipFunction_t gather = function_of(hip, module, "gather");
  u32* in = upload(hip, std::vector<u32>(256));
  u32 stride = 1;
  std::array<void*, 3> parameters{&in, &in, &stride};
  const auto attempt = [&](hipFunction_t function, std::array<unsigned, 3> grid, std::array<unsigned, 3> block) {
    return hip.hipModuleLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0, nullptr,
                                     parameters.data(), nullptr);
  };
  EXPECT_EQ(attempt(gather, {1, 1, 1}, {256, 1, 1}), hipSuccess);
  EXPECT_EQ(attempt(nullptr, {1, 1, 1}, {256, 1, 1}), hipErrorInvalidHandle);
  EXPECT_EQ(attempt(gather, {1, 0, 1}, {256, 1, 1}), hipErrorInvalidValue);
  EXPECT_EQ(attempt(gather, {1, 1, 1}, {256, 1, 0}), hipErrorInvalidConfiguration);
  EXPECT_EQ(attempt(gather, {1, 65537, 1}, {64, 1, 1}), hipErrorInvalidValue);
  EXPECT_EQ(attempt(gather, {0x7FFFFFFF, 1, 1}, {64, 1, 1}), hipErrorInvalidConfiguration);
  EXPECT_EQ(attempt(gather, {1, 1, 1}, {1024, 2, 1}), hipErrorInvalidConfiguration);
  EXPECT_EQ(attempt(gather, {1, 1, 1}, {512, 1, 1}), hipErrorLaunchFailure);  // beyond its launch bounds
  EXPECT_EQ(hip.hipDeviceSynchronize(), hipSuccess);                          // none of which is the device's fault
  EXPECT_EQ(hip.hipSetDevice(1), hipSuccess);
  EXPECT_EQ(attempt(gather, {1, 1, 1}, {256, 1, 1}), hipErrorInvalidDevice);
  EXPECT_EQ(hip.hipModuleUnload(module), hipSuccess);
  EXPECT_EQ(attempt(gather, {1, 1, 1}, {256, 1, 1}), hipErrorInvalidHandle);
  EXPECT_EQ(hip.hipModuleUnload(module), hipErrorInvalidHandle);
}

TEST_P(HipModules, LoadsFromMemoryAndFilesAndBundles) {
  const Hip hip = start();
  const std::vector<std::byte> mine = file_bytes(kernel_path("basics", GetParam()));
  const std::vector<std::byte> others = file_bytes(kernel_path("basics", other(GetParam())));
  hipModule_t module = nullptr;
  EXPECT_EQ(hip.hipModuleLoadData(&module, mine.data()), hipSuccess);
  hipFunction_t function = nullptr;
  EXPECT_EQ(hip.hipModuleGetFunction(&function, module, "vector_add"), hipSuccess);
  hipFunction_t again = nullptr;
  EXPECT_EQ(hip.hipModuleGetFunction(&again, module, "vector_add"), hipSuccess);
  EXPECT_EQ(again, function);
  EXPECT_EQ(hip.hipModuleGetFunction(&function, module, "vector_subtract"), hipErrorNotFound);
  EXPECT_EQ(hip.hipModuleGetFunction(&function, nullptr, "vector_add"), hipErrorInvalidHandle);
  EXPECT_EQ(hip.hipModuleLoadDataEx(&module, mine.data(), 0, nullptr, nullptr), hipSuccess);
  EXPECT_EQ(hip.hipModuleLoadData(&module, others.data()), hipErrorNoBinaryForGpu);
  EXPECT_EQ(hip.hipModuleLoadData(&module, "no code object"), hipErrorInvalidImage);
  EXPECT_EQ(hip.hipModuleLoadData(&module, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipModuleLoad(&module, "/nowhere"), hipErrorFileNotFound);
  EXPECT_EQ(hip.hipModuleLoad(&module, "sim/hip/api.h"), hipErrorInvalidImage);
  std::vector<std::byte> damaged = mine;
  damaged.resize(damaged.size() / 2);
  const TemporaryFile file("damaged.co");
  std::ofstream(file.path(), std::ios::binary)
      .write(reinterpret_cast<const char*>(damaged.data()), static_cast<std::streamsize>(damaged.size()));
  EXPECT_EQ(hip.hipModuleLoad(&module, file.path().c_str()), hipErrorInvalidImage);
}

/// The layout is that of Clang's "Offload Bundler".
std::vector<std::byte> bundle(const std::vector<std::pair<std::string, std::vector<std::byte>>>& entries) {
  std::string header = "__CLANG_OFFLOAD_BUNDLE__";
  const auto put = [&](u64 value) { header.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  put(entries.size());
  u64 offset = 4096;
  for (const auto& [target, bytes] : entries) {
    put(offset);
    put(bytes.size());
    put(target.size());
    header += target;
    offset += bytes.size();
  }
  header.resize(4096);
  std::vector<std::byte> result(4096);
  std::memcpy(result.data(), header.data(), header.size());
  for (const auto& [target, bytes] : entries) result.insert(result.end(), bytes.begin(), bytes.end());
  return result;
}

TEST_P(HipModules, LoadsItsPartOfABundle) {
  const Hip hip = start();
  const std::vector<std::byte> mine = file_bytes(kernel_path("modules", GetParam()));
  const std::vector<std::byte> others = file_bytes(kernel_path("basics", other(GetParam())));
  const std::string prefix = "hipv4-amdgcn-amd-amdhsa--";
  const std::string my_target = prefix + std::string(processor(GetParam()));
  const std::string other_target = prefix + std::string(processor(other(GetParam())));
  hipModule_t module = nullptr;
  const auto both = bundle({{"host-x86_64-unknown-linux-gnu-", {}}, {other_target, others}, {my_target, mine}});
  ASSERT_EQ(hip.hipModuleLoadData(&module, both.data()), hipSuccess);
  EXPECT_NE(function_of(hip, module, "reverse"), nullptr);
  const auto featured = bundle({{my_target + ":sramecc+:xnack-", mine}});
  EXPECT_EQ(hip.hipModuleLoadData(&module, featured.data()), hipSuccess);
  const auto without = bundle({{"host-x86_64-unknown-linux-gnu-", {}}, {other_target, others}});
  EXPECT_EQ(hip.hipModuleLoadData(&module, without.data()), hipErrorNoBinaryForGpu);
  const auto mislabelled = bundle({{my_target, others}});
  EXPECT_EQ(hip.hipModuleLoadData(&module, mislabelled.data()), hipErrorNoBinaryForGpu);
}

TEST_P(HipModules, AProcessorThatCannotBeExecutedTakesNoModule) {
  for (const char* arch : {"gfx90a", "gfx940", "gfx1100"}) {
    const Hip hip(Hip::Environment{{"ARCH", arch}});
    EXPECT_EQ(hip.started, hipSuccess);
    hipModule_t module = nullptr;
    EXPECT_EQ(hip.hipModuleLoad(&module, kernel_path("basics", GetParam()).c_str()), hipErrorNoBinaryForGpu);
  }
}

TEST_P(HipModules, AFaultComesToLightAtTheNextCallAndStaysUntilReset) {
  const TemporaryFile errors("errors");
  const Hip hip = start({{"ERRORS", errors.path().string()}});
  const hipModule_t module = load_module(hip, "basics", GetParam());
  const hipFunction_t add = function_of(hip, module, "vector_add");
  float* const a = upload(hip, std::vector<float>(256));
  float* const short_by_one = upload(hip, std::vector<float>(255));
  hipEvent_t event = nullptr;
  EXPECT_EQ(hip.hipEventCreate(&event), hipSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch(hip, add, 1, nullptr, a, a, short_by_one, 256U), hipSuccess);
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(hip.hipDeviceSynchronize(), hipErrorIllegalAddress);
  EXPECT_EQ(hip.hipDeviceSynchronize(), hipErrorIllegalAddress);
  EXPECT_EQ(hip.hipGetLastError(), hipErrorIllegalAddress);
  void* pointer = nullptr;
  EXPECT_EQ(hip.hipMalloc(&pointer, 16), hipErrorIllegalAddress);
  EXPECT_EQ(hip.hipFree(a), hipErrorIllegalAddress);
  EXPECT_EQ(hip.hipMemcpy(a, &pointer, 8, hipMemcpyHostToDevice), hipErrorIllegalAddress);
  EXPECT_EQ(hip.hipEventRecord(event, nullptr), hipErrorIllegalAddress);
  EXPECT_EQ(launch(hip, add, 1, nullptr, a, a, a, 256U), hipErrorIllegalAddress);
  for (const std::string& text : {printed, errors.text()}) {
    for (const char* part : {"kernel vector_add, workgroup (0, 0, 0), wave 3", "lane 63 accesses 4 bytes at",
                             "4 bytes past the end of 'hipMalloc 2' (1020 bytes"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
  EXPECT_EQ(hip.hipDeviceReset(), hipSuccess);
  EXPECT_EQ(hip.hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hip.hipModuleUnload(module), hipErrorInvalidHandle);  // went with the device's state
  float* const fresh = upload(hip, std::vector<float>(256, 2));
  EXPECT_NE(fresh, a);
  const hipFunction_t again = function_of(hip, load_module(hip, "basics", GetParam()), "vector_add");
  EXPECT_EQ(launch(hip, again, 1, nullptr, fresh, fresh, fresh, 256U), hipSuccess);
  EXPECT_EQ(download(hip, fresh, 256), std::vector<float>(256, 4));
}

TEST_P(HipModules, AFaultOfOneDeviceIsNotTheOthers) {
  const Hip hip = start({{"ARCH", std::string(processor(GetParam())) + "," + std::string(processor(GetParam()))}});
  u32* const elsewhere = upload(hip, std::vector<u32>(256));
  EXPECT_EQ(hip.hipSetDevice(1), hipSuccess);
  const hipFunction_t gather = function_of(hip, load_module(hip, "basics", GetParam()), "gather");
  u32* const here = upload(hip, std::vector<u32>(256));
  EXPECT_EQ(launch(hip, gather, 1, nullptr, elsewhere, here, 1U), hipSuccess);  // reads another device's memory
  EXPECT_EQ(hip.hipStreamSynchronize(nullptr), hipErrorIllegalAddress);
  EXPECT_EQ(hip.hipSetDevice(0), hipSuccess);
  EXPECT_EQ(hip.hipStreamSynchronize(nullptr), hipSuccess);
  EXPECT_EQ(download(hip, elsewhere, 256), std::vector<u32>(256));
}

TEST_P(HipModules, KernelsReachPinnedMemory) {
  const Hip hip = start();
  const hipFunction_t gather = function_of(hip, load_module(hip, "basics", GetParam()), "gather");
  void* pinned = nullptr;
  EXPECT_EQ(hip.hipHostMalloc(&pinned, 1024, 0), hipSuccess);
  auto* const in = static_cast<u32*>(pinned);
  for (u32 i = 0; i < 256; ++i) in[i] = 3 * i;
  std::vector<u32> out(256);
  EXPECT_EQ(hip.hipHostRegister(out.data(), 1024, 0), hipSuccess);
  EXPECT_EQ(launch(hip, gather, 1, nullptr, in, out.data(), 1U), hipSuccess);
  EXPECT_EQ(hip.hipDeviceSynchronize(), hipSuccess);
  for (u32 i = 0; i < 256; ++i) ASSERT_EQ(out[i], 3 * i);
  EXPECT_EQ(hip.hipHostUnregister(out.data()), hipSuccess);
  EXPECT_EQ(launch(hip, gather, 1, nullptr, in, out.data(), 1U), hipSuccess);
  EXPECT_EQ(hip.hipDeviceSynchronize(), hipErrorIllegalAddress);
}

TEST_P(HipModules, DetectorsWatchWhereTheyAreAskedFor) {
  for (const bool check : {false, true}) {
    const TemporaryFile errors("barrier");
    const Hip hip = start({{"CHECK", check ? "1" : "0"}, {"ERRORS", errors.path().string()}});
    const hipFunction_t diverge = function_of(hip, load_module(hip, "basics", GetParam()), "diverge");
    const u32 one_wave_of_four = 1;
    EXPECT_EQ(launch(hip, diverge, 1, nullptr, upload(hip, std::vector<u32>(256)), one_wave_of_four), hipSuccess);
    EXPECT_EQ(hip.hipDeviceSynchronize(), check ? hipErrorLaunchFailure : hipSuccess);
    EXPECT_EQ(errors.text().find("divergent barrier") != std::string::npos, check) << errors.text();
  }
}

TEST_P(HipModules, CountsALineForEachLaunch) {
  const TemporaryFile counts("counts");
  const Hip hip = start({{"COUNTS", counts.path().string()}, {"TRAFFIC", "1"}});
  const hipFunction_t gather = function_of(hip, load_module(hip, "basics", GetParam()), "gather");
  u32* const in = upload(hip, std::vector<u32>(1024));
  u32* const out = upload(hip, std::vector<u32>(512));
  EXPECT_EQ(launch(hip, gather, 2, nullptr, in, out, 1U), hipSuccess);
  EXPECT_EQ(launch(hip, gather, 1, nullptr, in, out, 4U), hipSuccess);
  std::istringstream lines(counts.text());
  std::vector<nlohmann::json> launches;
  for (std::string line; std::getline(lines, line);) launches.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(launches.size(), 2U);
  const nlohmann::json& first = launches[0];
  const nlohmann::json& second = launches[1];
  EXPECT_EQ(first.at("device"), 0);
  EXPECT_EQ(first.at("kernel").at("name"), "gather");
  EXPECT_EQ(first.at("kernel").at("processor"), std::string(processor(GetParam())));
  EXPECT_EQ(first.at("launch").at("workgroups"), nlohmann::json({2, 1, 1}));
  EXPECT_EQ(first.at("launch").at("lanes"), nlohmann::json({256, 1, 1}));
  EXPECT_EQ(first.at("instructions").at("families").at("global"), 16);  // a load and a store of eight waves
  EXPECT_EQ(second.at("instructions").at("families").at("global"), 8);
  EXPECT_EQ(first.at("global").at("read").at("segments_64"), 32);   // 2 KiB
  EXPECT_EQ(second.at("global").at("read").at("segments_64"), 64);  // 256 words, four to a segment
}

INSTANTIATE_TEST_SUITE_P(Generations, HipModules, testing::Values(Generation::cdna3, Generation::cdna4),
                         [](const auto& generation) { return std::string(processor(generation.param)); });

}  // namespace
}  // namespace octet::sim
