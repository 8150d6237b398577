// The stand-in libamdhip64: memory of devices and of the host, copies and fills, and what is refused of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "sim/hip_client.h"

namespace octet::sim {
namespace {

using u8 = std::uint8_t;

std::vector<u8> counting(std::size_t count) {
  std::vector<u8> values(count);
  std::iota(values.begin(), values.end(), u8{1});
  return values;
}

TEST(HipMemory, AllocatesUpToWhatTheDeviceHas) {
  const Hip hip(Hip::Environment{{"MEMORY", "1000000"}});
  void* first = nullptr;
  void* second = nullptr;
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(hip.hipMalloc(&first, 600'000), hipSuccess);
  EXPECT_EQ(reinterpret_cast<u64>(first) % 256, 0U);
  EXPECT_EQ(hip.hipMemGetInfo(&free, &total), hipSuccess);
  EXPECT_EQ(free, 400'000U);
  EXPECT_EQ(total, 1'000'000U);
  EXPECT_EQ(hip.hipMalloc(&second, 400'001), hipErrorOutOfMemory);
  EXPECT_EQ(hip.hipMalloc(&second, ~std::size_t{0}), hipErrorOutOfMemory);
  EXPECT_EQ(hip.hipMalloc(&second, 400'000), hipSuccess);
  EXPECT_EQ(hip.hipFree(first), hipSuccess);
  EXPECT_EQ(hip.hipMalloc(&first, 600'000), hipSuccess);
  // New memory holds NaN rather than what its last owner left.
  EXPECT_EQ(download(hip, static_cast<const u8*>(first), 600'000), std::vector<u8>(600'000, 0xFF));
}

TEST(HipMemory, FreesOnlyWhatItGave) {
  const Hip hip;
  void* pointer = &pointer;
  EXPECT_EQ(hip.hipMalloc(nullptr, 16), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipMalloc(&pointer, 0), hipSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(hip.hipFree(nullptr), hipSuccess);
  EXPECT_EQ(hip.hipMalloc(&pointer, 16), hipSuccess);
  EXPECT_EQ(hip.hipFree(static_cast<u8*>(pointer) + 8), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipFree(pointer), hipSuccess);
  EXPECT_EQ(hip.hipFree(pointer), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipFree(&pointer), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipMallocAsync(&pointer, 16, nullptr), hipSuccess);
  EXPECT_EQ(hip.hipFreeAsync(nullptr, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipFreeAsync(pointer, nullptr), hipSuccess);
  EXPECT_EQ(hip.hipFreeAsync(pointer, nullptr), hipErrorInvalidValue);
}

TEST(HipMemory, CopiesInEveryDirection) {
  const Hip hip;
  const std::vector<u8> values = counting(100);
  u8* const a = upload(hip, std::vector<u8>(100));
  u8* const b = upload(hip, std::vector<u8>(100));
  std::vector<u8> back(100);
  const auto clear = [&] {
    std::fill(back.begin(), back.end(), u8{0});
    EXPECT_EQ(hip.hipMemset(a, 0, 100), hipSuccess);
    EXPECT_EQ(hip.hipMemset(b, 0, 100), hipSuccess);
  };
  const auto through = [&](hipMemcpyKind in, hipMemcpyKind within, hipMemcpyKind out) {
    clear();
    EXPECT_EQ(hip.hipMemcpyAsync(a, values.data(), 100, in, nullptr), hipSuccess);
    EXPECT_EQ(hip.hipMemcpyAsync(b + 10, a + 10, 80, within, nullptr), hipSuccess);
    EXPECT_EQ(hip.hipMemcpyAsync(back.data(), b, 100, out, nullptr), hipSuccess);
  };
  std::vector<u8> expected(100);
  std::copy_n(values.begin() + 10, 80, expected.begin() + 10);
  through(hipMemcpyHostToDevice, hipMemcpyDeviceToDevice, hipMemcpyDeviceToHost);
  EXPECT_EQ(back, expected);
  through(hipMemcpyDefault, hipMemcpyDefault, hipMemcpyDefault);
  EXPECT_EQ(back, expected);
  clear();
  EXPECT_EQ(hip.hipMemcpyHtoD(a, values.data(), 100), hipSuccess);
  EXPECT_EQ(hip.hipMemcpyDtoD(b + 10, a + 10, 80), hipSuccess);
  EXPECT_EQ(hip.hipMemcpyDtoH(back.data(), b, 100), hipSuccess);
  EXPECT_EQ(back, expected);
  clear();
  EXPECT_EQ(hip.hipMemcpyHtoDAsync(a, values.data(), 100, nullptr), hipSuccess);
  EXPECT_EQ(hip.hipMemcpyDtoDAsync(b + 10, a + 10, 80, nullptr), hipSuccess);
  EXPECT_EQ(hip.hipMemcpyDtoHAsync(back.data(), b, 100, nullptr), hipSuccess);
  EXPECT_EQ(back, expected);
  EXPECT_EQ(hip.hipMemcpy(back.data(), values.data(), 100, hipMemcpyHostToHost), hipSuccess);
  EXPECT_EQ(back, values);
}

TEST(HipMemory, RefusesCopiesThatTheHardwareMayNot) {
  const Hip hip(Hip::Environment{{"ARCH", "gfx942,gfx942"}});
  std::vector<u8> host(100);
  u8* const device = upload(hip, host);
  u8* const freed = upload(hip, host);
  EXPECT_EQ(hip.hipFree(freed), hipSuccess);
  const auto copy = [&](void* to, const void* from, std::size_t size, hipMemcpyKind kind) {
    return hip.hipMemcpy(to, from, size, kind);
  };
  EXPECT_EQ(copy(nullptr, device, 1, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  EXPECT_EQ(copy(device, nullptr, 1, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(copy(nullptr, nullptr, 0, hipMemcpyHostToDevice), hipSuccess);
  EXPECT_EQ(copy(device, host.data(), 1, static_cast<hipMemcpyKind>(5)), hipErrorInvalidMemcpyDirection);
  EXPECT_EQ(copy(device, host.data(), 101, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(copy(host.data(), device + 1, 100, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  EXPECT_EQ(copy(host.data(), device - 1, 1, hipMemcpyDefault), hipErrorInvalidValue);
  EXPECT_EQ(copy(host.data(), freed, 1, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  EXPECT_EQ(copy(host.data(), freed, 1, hipMemcpyDefault), hipErrorInvalidValue);
  EXPECT_EQ(copy(host.data(), device, 1, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(copy(device, device + 50, 10, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(copy(host.data(), host.data() + 50, 10, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(copy(device, host.data(), 10, hipMemcpyDeviceToDevice), hipErrorInvalidValue);
  EXPECT_EQ(copy(device, device + 9, 10, hipMemcpyDeviceToDevice), hipErrorInvalidValue);
  EXPECT_EQ(copy(device, device + 10, 10, hipMemcpyDeviceToDevice), hipSuccess);
  EXPECT_EQ(hip.hipMemset(host.data(), 0, 10), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipMemset(device + 91, 0, 10), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipMemsetD32(device + 2, 0, 1), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipMemsetD32(device, 0, std::size_t{1} << 62), hipErrorInvalidValue);  // 4 bytes each wrap to none
  EXPECT_EQ(hip.hipMemcpy2D(device, std::size_t{1} << 63, host.data(), 10, 10, 3, hipMemcpyHostToDevice),
            hipErrorInvalidValue);
}

TEST(HipMemory, FillsByTheSizeOfTheValue) {
  const Hip hip;
  u8* const device = upload(hip, std::vector<u8>(16));
  const auto bytes = [&] { return download(hip, device, 16); };
  EXPECT_EQ(hip.hipMemset(device, 0x1AB, 3), hipSuccess);
  EXPECT_EQ(hip.hipMemsetD16(device + 4, 0x1234, 2), hipSuccess);
  EXPECT_EQ(hip.hipMemsetD32(device + 8, 0x56789ABC, 1), hipSuccess);
  EXPECT_EQ(hip.hipMemsetD8(device + 15, 0x7F, 1), hipSuccess);
  EXPECT_EQ(bytes(),
            (std::vector<u8>{0xAB, 0xAB, 0xAB, 0, 0x34, 0x12, 0x34, 0x12, 0xBC, 0x9A, 0x78, 0x56, 0, 0, 0, 0x7F}));
  EXPECT_EQ(hip.hipMemsetAsync(device, 1, 16, nullptr), hipSuccess);
  EXPECT_EQ(hip.hipMemsetD8Async(device, 2, 1, nullptr), hipSuccess);
  EXPECT_EQ(hip.hipMemsetD16Async(device + 2, 3, 1, nullptr), hipSuccess);
  EXPECT_EQ(hip.hipMemsetD32Async(device + 4, 4, 1, nullptr), hipSuccess);
  EXPECT_EQ(bytes(), (std::vector<u8>{2, 1, 3, 0, 4, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
  constexpr std::size_t kLarge = 200'001;  // more than is written at a time
  u8* const large = upload(hip, std::vector<u8>(kLarge * 4));
  EXPECT_EQ(hip.hipMemsetD32(large, 0x01020304, kLarge), hipSuccess);
  EXPECT_EQ(download(hip, reinterpret_cast<const u32*>(large), kLarge), std::vector<u32>(kLarge, 0x01020304));
}

TEST(HipMemory, CopiesRowsThatLieApart) {
  const Hip hip;
  const std::vector<u8> values = counting(60);  // 5 rows of 12, of which 7 are copied
  u8* const device = upload(hip, std::vector<u8>(40, 0xEE));
  EXPECT_EQ(hip.hipMemcpy2D(device, 8, values.data(), 12, 7, 5, hipMemcpyHostToDevice), hipSuccess);
  std::vector<u8> expected(40, 0xEE);
  for (std::size_t row = 0; row < 5; ++row) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row * 12), 7,
                expected.begin() + static_cast<std::ptrdiff_t>(row * 8));
  }
  EXPECT_EQ(download(hip, device, 40), expected);
  std::vector<u8> back(60);
  EXPECT_EQ(hip.hipMemcpy2DAsync(back.data(), 12, device, 8, 7, 5, hipMemcpyDeviceToHost, nullptr), hipSuccess);
  EXPECT_EQ(back[12 + 6], values[12 + 6]);
  EXPECT_EQ(back[12 + 7], 0);
  EXPECT_EQ(hip.hipMemcpy2D(device, 6, values.data(), 12, 7, 5, hipMemcpyHostToDevice), hipErrorInvalidPitchValue);
  EXPECT_EQ(hip.hipMemcpy2D(device, 9, values.data(), 12, 7, 5, hipMemcpyHostToDevice), hipErrorInvalidValue);
}

TEST(HipMemory, PinnedMemoryHasOneAddressOnBothSides) {
  const Hip hip;
  void* pinned = nullptr;
  EXPECT_EQ(hip.hipHostMalloc(&pinned, 1000, 0), hipSuccess);
  ASSERT_NE(pinned, nullptr);
  void* seen = nullptr;
  EXPECT_EQ(hip.hipHostGetDevicePointer(&seen, pinned, 0), hipSuccess);
  EXPECT_EQ(seen, pinned);
  EXPECT_EQ(hip.hipHostGetDevicePointer(&seen, &seen, 0), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipMemset(pinned, 5, 1000), hipSuccess);
  EXPECT_EQ(static_cast<const u8*>(pinned)[999], 5);
  EXPECT_EQ(hip.hipMemset(pinned, 5, 1001), hipErrorInvalidValue);
  u8* const device = upload(hip, std::vector<u8>(1000));
  EXPECT_EQ(hip.hipMemcpy(device, pinned, 1000, hipMemcpyDeviceToDevice), hipSuccess);  // it is of both sides
  EXPECT_EQ(download(hip, device, 1000), std::vector<u8>(1000, 5));
  EXPECT_EQ(hip.hipHostMalloc(&seen, 16, hipHostMallocCoherent | hipHostMallocNonCoherent), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipHostFree(pinned), hipSuccess);
  EXPECT_EQ(hip.hipHostFree(pinned), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipHostFree(nullptr), hipSuccess);
  EXPECT_EQ(hip.hipMallocManaged(&pinned, 16, 1), hipSuccess);
  static_cast<u8*>(pinned)[15] = 9;
  EXPECT_EQ(hip.hipHostFree(pinned), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipFree(pinned), hipSuccess);
}

TEST(HipMemory, RegistersTheClientsMemory) {
  const Hip hip;
  std::vector<u8> mine(1000, 3);
  EXPECT_EQ(hip.hipHostUnregister(mine.data()), hipErrorHostMemoryNotRegistered);
  EXPECT_EQ(hip.hipHostRegister(mine.data() + 100, 800, 0), hipSuccess);
  EXPECT_EQ(hip.hipHostRegister(mine.data(), 101, 0), hipErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(hip.hipHostRegister(mine.data() + 899, 1, 0), hipErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(hip.hipHostRegister(mine.data() + 900, 100, 0), hipSuccess);
  void* seen = nullptr;
  EXPECT_EQ(hip.hipHostGetDevicePointer(&seen, mine.data() + 200, 0), hipSuccess);
  EXPECT_EQ(seen, mine.data() + 200);
  EXPECT_EQ(hip.hipMemset(mine.data() + 99, 0, 1), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipMemset(mine.data() + 100, 0, 1), hipSuccess);
  EXPECT_EQ(mine[100], 0);
  EXPECT_EQ(hip.hipHostUnregister(mine.data() + 100), hipSuccess);
  EXPECT_EQ(hip.hipHostUnregister(mine.data() + 900), hipSuccess);
  EXPECT_EQ(hip.hipHostRegister(nullptr, 1, 0), hipErrorInvalidValue);
}

TEST(HipMemory, SaysWhatAPointerIs) {
  const Hip hip(Hip::Environment{{"ARCH", "gfx942,gfx950"}});
  EXPECT_EQ(hip.hipSetDevice(1), hipSuccess);
  u8* const device = upload(hip, std::vector<u8>(16));
  void* pinned = nullptr;
  EXPECT_EQ(hip.hipHostMalloc(&pinned, 16, 2), hipSuccess);
  hipPointerAttribute_t attributes{};
  EXPECT_EQ(hip.hipPointerGetAttributes(&attributes, device + 15), hipSuccess);
  EXPECT_EQ(attributes.type, hipMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 1);
  EXPECT_EQ(attributes.devicePointer, device + 15);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  EXPECT_EQ(hip.hipPointerGetAttributes(&attributes, pinned), hipSuccess);
  EXPECT_EQ(attributes.type, hipMemoryTypeHost);
  EXPECT_EQ(attributes.hostPointer, pinned);
  EXPECT_EQ(attributes.allocationFlags, 2U);
  EXPECT_EQ(hip.hipPointerGetAttributes(&attributes, &attributes), hipSuccess);
  EXPECT_EQ(attributes.type, hipMemoryTypeUnregistered);
  EXPECT_EQ(hip.hipFree(device), hipSuccess);
  EXPECT_EQ(hip.hipPointerGetAttributes(&attributes, device), hipErrorInvalidValue);
}

TEST(HipMemory, DevicesShareNoAddress) {
  const Hip hip(Hip::Environment{{"ARCH", "gfx942,gfx950"}});
  const std::vector<u8> values = counting(64);
  u8* const first = upload(hip, values);
  EXPECT_EQ(hip.hipSetDevice(1), hipSuccess);
  u8* const second = upload(hip, std::vector<u8>(64));
  EXPECT_NE(first, second);
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(hip.hipMemGetInfo(&free, &total), hipSuccess);
  EXPECT_EQ(total - free, 64U);
  EXPECT_EQ(hip.hipMemcpy(second, first, 64, hipMemcpyDeviceToDevice), hipSuccess);
  EXPECT_EQ(download(hip, second, 64), values);
  EXPECT_EQ(hip.hipFree(first), hipSuccess);  // whatever device is current
  EXPECT_EQ(hip.hipDeviceReset(), hipSuccess);
  EXPECT_EQ(hip.hipFree(second), hipErrorInvalidValue);
}

TEST(HipMemory, ManyThreadsMayCall) {
  const Hip hip;
  std::vector<std::thread> threads;
  for (u8 number = 0; number < 4; ++number) {
    threads.emplace_back([&hip, number] {
      for (int round = 0; round < 50; ++round) {
        u8* const device = upload(hip, std::vector<u8>(1000, number));
        ASSERT_EQ(download(hip, device, 1000), std::vector<u8>(1000, number));
        ASSERT_EQ(hip.hipFree(device), hipSuccess);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(hip.hipMemGetInfo(&free, &total), hipSuccess);
  EXPECT_EQ(free, total);
}

}  // namespace
}  // namespace octet::sim
