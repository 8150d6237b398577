// The stand-in libamdhip64: streams, events, functions of the host.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "sim/hip_client.h"

namespace octet::sim {
namespace {

TEST(HipStreams, AreMadeUsedAndGone) {
  const Hip hip;
  hipStream_t plain = nullptr;
  hipStream_t other = nullptr;
  hipStream_t urgent = nullptr;
  EXPECT_EQ(hip.hipStreamCreate(&plain), hipSuccess);
  EXPECT_EQ(hip.hipStreamCreateWithFlags(&other, hipStreamNonBlocking), hipSuccess);
  EXPECT_EQ(hip.hipStreamCreateWithPriority(&urgent, hipStreamDefault, -1), hipSuccess);
  EXPECT_EQ(hip.hipStreamCreate(nullptr), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipStreamCreateWithFlags(&other, 2), hipErrorInvalidValue);
  auto* const legacy = reinterpret_cast<hipStream_t>(std::uintptr_t{1});
  auto* const of_thread = reinterpret_cast<hipStream_t>(std::uintptr_t{2});
  u32* const device = upload(hip, std::vector<u32>(1));
  int value = 0;
  for (const hipStream_t stream : {plain, other, urgent, legacy, of_thread, hipStream_t{nullptr}}) {
    EXPECT_EQ(hip.hipMemsetD32Async(device, ++value, 1, stream), hipSuccess);
    EXPECT_EQ(hip.hipStreamQuery(stream), hipSuccess);
    EXPECT_EQ(hip.hipStreamSynchronize(stream), hipSuccess);
    EXPECT_EQ(download(hip, device, 1)[0], static_cast<u32>(value));
  }
  EXPECT_EQ(hip.hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hip.hipStreamDestroy(plain), hipSuccess);
  EXPECT_EQ(hip.hipStreamDestroy(plain), hipErrorContextIsDestroyed);
  EXPECT_EQ(hip.hipStreamSynchronize(plain), hipErrorContextIsDestroyed);
  EXPECT_EQ(hip.hipMemsetD32Async(device, 1, 1, plain), hipErrorContextIsDestroyed);
  EXPECT_EQ(hip.hipStreamDestroy(nullptr), hipErrorInvalidHandle);
}

TEST(HipStreams, EventsMeasureTheHostsTime) {
  const Hip hip;
  hipStream_t stream = nullptr;
  hipEvent_t start = nullptr;
  hipEvent_t stop = nullptr;
  hipEvent_t untimed = nullptr;
  EXPECT_EQ(hip.hipStreamCreate(&stream), hipSuccess);
  EXPECT_EQ(hip.hipEventCreate(&start), hipSuccess);
  EXPECT_EQ(hip.hipEventCreateWithFlags(&stop, hipEventBlockingSync), hipSuccess);
  EXPECT_EQ(hip.hipEventCreateWithFlags(&untimed, hipEventDisableTiming | hipEventDisableSystemFence), hipSuccess);
  EXPECT_EQ(hip.hipEventCreateWithFlags(&untimed, 0x10), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipEventCreateWithFlags(&untimed, hipEventReleaseToDevice | hipEventReleaseToSystem),
            hipErrorInvalidValue);
  float milliseconds = -1;
  EXPECT_EQ(hip.hipEventQuery(start), hipSuccess);  // nothing was recorded: nothing to wait for
  EXPECT_EQ(hip.hipEventElapsedTime(&milliseconds, start, stop), hipErrorInvalidHandle);
  EXPECT_EQ(hip.hipEventRecord(start, stream), hipSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(hip.hipEventRecord(stop, stream), hipSuccess);
  EXPECT_EQ(hip.hipEventRecord(untimed, stream), hipSuccess);
  EXPECT_EQ(hip.hipEventSynchronize(stop), hipSuccess);
  EXPECT_EQ(hip.hipEventElapsedTime(&milliseconds, start, stop), hipSuccess);
  EXPECT_GE(milliseconds, 5.0F);
  EXPECT_EQ(hip.hipEventElapsedTime(&milliseconds, start, untimed), hipErrorInvalidHandle);
  EXPECT_EQ(hip.hipEventElapsedTime(nullptr, start, stop), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipStreamWaitEvent(stream, start, 0), hipSuccess);
  EXPECT_EQ(hip.hipStreamWaitEvent(stream, start, 7), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipStreamWaitEvent(stream, nullptr, 0), hipErrorInvalidHandle);
  EXPECT_EQ(hip.hipEventDestroy(start), hipSuccess);
  EXPECT_EQ(hip.hipEventDestroy(start), hipErrorContextIsDestroyed);
  EXPECT_EQ(hip.hipEventDestroy(nullptr), hipErrorInvalidHandle);
  EXPECT_EQ(hip.hipEventRecord(start, stream), hipErrorInvalidHandle);
}

TEST(HipStreams, AnEventBelongsToItsDevice) {
  const Hip hip(Hip::Environment{{"ARCH", "gfx942,gfx950"}});
  hipEvent_t event = nullptr;
  hipStream_t stream = nullptr;
  EXPECT_EQ(hip.hipEventCreate(&event), hipSuccess);
  EXPECT_EQ(hip.hipSetDevice(1), hipSuccess);
  EXPECT_EQ(hip.hipStreamCreate(&stream), hipSuccess);
  EXPECT_EQ(hip.hipEventRecord(event, stream), hipErrorInvalidHandle);
  EXPECT_EQ(hip.hipDeviceReset(), hipSuccess);
  EXPECT_EQ(hip.hipStreamSynchronize(stream), hipErrorContextIsDestroyed);
  EXPECT_EQ(hip.hipEventQuery(event), hipSuccess);
}

TEST(HipStreams, HostFunctionsMayWaitForThreadsThatCall) {
  const Hip hip;
  struct Data {
    const Hip& hip;
    u32* device;
    u32 seen = 0;
  } data{hip, upload(hip, std::vector<u32>{17})};
  const auto function = [](void* pointer) {
    auto& of = *static_cast<Data*>(pointer);
    std::thread([&] { of.seen = download(of.hip, of.device, 1)[0]; }).join();
  };
  EXPECT_EQ(hip.hipLaunchHostFunc(nullptr, function, &data), hipSuccess);
  EXPECT_EQ(data.seen, 17U);
  EXPECT_EQ(hip.hipLaunchHostFunc(nullptr, nullptr, &data), hipErrorInvalidValue);
}

}  // namespace
}  // namespace octet::sim
