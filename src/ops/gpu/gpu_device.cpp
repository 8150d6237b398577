#include "ops/gpu/gpu_device.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/timing.h"

namespace octet::ops::gpu {
std::string GpuDevice::description() const {
  const octet::gpu::DeviceFacts& facts = driver_->facts();
  const std::string attention = attention_.library != nullptr
                                    ? attention_.library->description() + ", own kernels where documents are packed"
                                    : fmt::format("own kernels ({})", attention_.problem);
  return fmt::format("{} ({}, {} multiprocessors, {:.1f} GiB), {}, {}, {}; attention: {}", facts.name, facts.arch,
                     facts.multiprocessors, static_cast<double>(facts.memory_bytes) / (1U << 30U), facts.runtime,
                     products_->description(), grouped_products_->description(), attention);
}

void GpuDevice::finish() {
  const double begin = monotonic_seconds();
  driver_->finish();
  use_.waited_seconds += monotonic_seconds() - begin;
}

ArenaAllocator GpuDevice::allocator() {
  return [this](std::size_t bytes) {
    std::shared_ptr<std::byte> arena = driver_->allocate(bytes);
    driver_->zero(arena.get(), bytes);  // gaps between parameters are summed with them
    return arena;
  };
}

ArenaAllocator GpuDevice::shared_allocator() {
  return [this](std::size_t bytes) { return driver_->allocate_shared(bytes); };
}

unsigned threads_for(const Device& device, Index items, unsigned most) {
  const auto warp = static_cast<Index>(gpu(device).warp_size());
  return static_cast<unsigned>(std::clamp<Index>((items + warp - 1) / warp * warp, warp, most));
}

RowLaunch row_launch(const Device& device, const RowWork& work) {
  const auto tile =
      std::ranges::find_if(work.tiles, [&](const RowTile& each) { return work.cols <= each.cols_at_most; });
  if (tile == work.tiles.end()) {
    throw UserError(
        "rows of {} elements are longer than the {} that the GPU's kernels hold: make the model narrower, or "
        "compute on the CPU",
        work.cols, kLongestRow);
  }
  const Index per_thread = 8 * tile->vectors;
  const unsigned threads = threads_for(device, (work.cols + per_thread - 1) / per_thread, 1024);
  // Side by side in a block: not so many that multiprocessors go without.
  const Index most_rows = std::min<Index>(gpu(device).barriers() - 1, work.rows / gpu(device).multiprocessors());
  const auto rows =
      static_cast<unsigned>(std::clamp<Index>(tile->block_threads / threads, 1, std::max<Index>(1, most_rows)));
  const unsigned resident = std::max(1U, tile->resident_threads / (threads * rows));
  const unsigned part = threads * rows * static_cast<unsigned>(tile->vectors) * 16;
  const unsigned with_rows_ahead = static_cast<unsigned>(work.column_folds + work.rows_ahead) * part;
  const bool ahead =
      work.rows_ahead > 0 && resident * (with_rows_ahead + kReservedShared) <= gpu(device).shared_bytes();
  const unsigned shared = ahead ? with_rows_ahead : static_cast<unsigned>(work.column_folds - work.unused_folds) * part;
  if (shared + kReservedShared > gpu(device).shared_bytes()) {
    throw UserError(
        "rows of {} elements take {} bytes of a block's shared memory for what is summed or measured by column, of the "
        "{} that the GPU has: make the model narrower, or compute on the CPU",
        work.cols, shared, gpu(device).shared_bytes());
  }
  const Index most = Index{gpu(device).multiprocessors()} * resident;
  return {tile->vectors,
          {.blocks_x = static_cast<unsigned>(std::min(Index{blocks_for(work.rows, rows)}, most)),
           .threads = threads,
           .threads_y = rows,
           .shared_bytes = shared},
          ahead};
}

std::string row_kernel(const Device& device, std::string_view kernel, const RowCodes& codes, const RowLaunch& launch) {
  const fp8::Format format = codes.wanted ? codes.rule.format() : fp8::forward_format(gpu(device).families().front());
  return fmt::format("{}_{}_{}", kernel, fp8::name(format), launch.vectors);
}

}  // namespace octet::ops::gpu
