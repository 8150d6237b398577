#include "ops/gpu/gpu_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace octet::ops::gpu {
namespace {

/// How many vectors a thread holds of rows up to that length; threads follow. Two loads in flight a thread and several
/// blocks a multiprocessor keep memory busy; longer rows trade blocks for registers.
struct RowTile {
  Index cols_at_most;
  int vectors;
};
constexpr std::array<RowTile, 4> kRowTiles{{{1024, 1}, {8192, 2}, {16384, 4}, {32768, 8}}};

/// Blocks a multiprocessor of a launch that goes through all rows: what 64 registers a thread leave room for.
int blocks_per_multiprocessor(unsigned threads) {
  return std::max(1, static_cast<int>(1024 / threads));
}

}  // namespace

std::string GpuDevice::description() const {
  const octet::gpu::DeviceFacts& facts = driver_->facts();
  const std::string attention = attention_.library != nullptr ? attention_.library->description()
                                                              : fmt::format("own kernels ({})", attention_.problem);
  return fmt::format("{} ({}, {} multiprocessors, {:.1f} GiB), {}; attention: {}", facts.name, facts.arch,
                     facts.multiprocessors, static_cast<double>(facts.memory_bytes) / (1U << 30U), facts.runtime,
                     attention);
}

ArenaAllocator GpuDevice::allocator() {
  return [this](std::size_t bytes) {
    std::shared_ptr<std::byte> arena = driver_->allocate(bytes);
    driver_->zero(arena.get(), bytes);  // gaps between parameters are summed with them
    return arena;
  };
}

RowLaunch row_launch(const Device& device, Index rows, Index cols) {
  const auto tile =
      std::find_if(kRowTiles.begin(), kRowTiles.end(), [&](const RowTile& each) { return cols <= each.cols_at_most; });
  if (tile == kRowTiles.end()) {
    throw UserError("rows of {} elements are longer than the {} that the GPU's kernels hold", cols,
                    kRowTiles.back().cols_at_most);
  }
  const Index per_thread = 8 * tile->vectors;
  const auto threads =
      static_cast<unsigned>(std::max<Index>(32, ((cols + per_thread - 1) / per_thread + 31) / 32 * 32));
  const Index most = Index{gpu(device).multiprocessors()} * blocks_per_multiprocessor(threads);
  return {tile->vectors, {.blocks_x = static_cast<unsigned>(std::min(rows, most)), .threads = threads}};
}

std::string row_kernel(std::string_view kernel, fp8::Format format, const RowLaunch& launch) {
  return fmt::format("{}_{}_{}", kernel, fp8::name(format), launch.vectors);
}

}  // namespace octet::ops::gpu
