// Ranges reach a library that takes a profiler's place; without one there are none.
#include "gpu/cuda/nvtx_ranges.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace octet::gpu {
namespace {

/// NVTX looks for a profiler once in the life of a process, so that each test runs in one of its own.
[[noreturn]] void tell_listener() {
  setenv("NVTX_INJECTION64_PATH", OCTET_NVTX_LISTENER, 1);
  {
    const auto ranges = find_nvtx_ranges();
    if (ranges == nullptr) std::exit(1);
    const ScopedRange step(ranges.get(), "step 1");
    const std::string longer = "gemm and what follows";
    { const ScopedRange op(ranges.get(), std::string_view(longer).substr(0, 4)); }
    { const ScopedRange op(ranges.get(), "adamw"); }
  }
  void* listener = dlopen(OCTET_NVTX_LISTENER, RTLD_NOW);
  std::cerr << reinterpret_cast<const char* (*)()>(dlsym(listener, "nvtx_heard"))() << '\n';
  std::exit(0);
}

[[noreturn]] void look_without_listener() {
  unsetenv("NVTX_INJECTION64_PATH");
  const auto ranges = find_nvtx_ranges();
  const ScopedRange step(ranges.get(), "step 1");
  std::exit(ranges == nullptr ? 0 : 1);
}

TEST(NvtxRanges, AreHeardByAProfiler) {
  EXPECT_EXIT(tell_listener(), testing::ExitedWithCode(0), "octet<step 1<gemm><adamw>>\\.");
}

TEST(NvtxRanges, AreNoneWithoutAProfiler) {
  EXPECT_EXIT(look_without_listener(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace octet::gpu
