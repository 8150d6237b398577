// The GPU as a device of the op table: a driver, its kernels, and the launch shapes that follow from an op's sizes.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/attention.h"
#include "gpu/driver.h"
#include "gpu/grouped_products.h"
#include "gpu/products.h"
#include "gpu/ranges.h"
#include "ops/backend.h"

namespace octet::ops::gpu {

using Index = std::int64_t;
using octet::gpu::LaunchShape;

class GpuDevice final : public Device {
 public:
  /// `attention` may hold no library: own kernels take its place, and the description says why. `ranges` may be null.
  GpuDevice(std::unique_ptr<octet::gpu::Driver> driver, std::unique_ptr<octet::gpu::Products> products,
            std::unique_ptr<octet::gpu::GroupedProducts> grouped_products, fp8::FormatFamily family,
            octet::gpu::FoundAttention attention, std::unique_ptr<octet::gpu::Ranges> ranges)
      : driver_(std::move(driver)),
        products_(std::move(products)),
        grouped_products_(std::move(grouped_products)),
        family_(family),
        attention_(std::move(attention)),
        ranges_(std::move(ranges)) {}

  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::string arch() const override { return driver_->facts().arch; }
  [[nodiscard]] std::vector<fp8::FormatFamily> families() const override { return {family_}; }
  [[nodiscard]] ArenaAllocator allocator() override;
  [[nodiscard]] std::optional<std::size_t> free_bytes() const override { return driver_->memory().free_bytes; }
  [[nodiscard]] ArenaAllocator shared_allocator() override;
  [[nodiscard]] bool host_memory() const override { return false; }
  [[nodiscard]] std::size_t cache_bytes() const override { return driver_->facts().l2_bytes; }
  [[nodiscard]] bool recomputes_casts() const override { return true; }
  [[nodiscard]] bool attends_alike() const override { return attention() == nullptr; }
  [[nodiscard]] DeviceUse use() const override { return use_; }
  void upload(void* to, const void* from, std::size_t bytes) override { driver_->upload(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) override {
    finish();
    driver_->download(to, from, bytes);
  }
  void finish() override;
  [[nodiscard]] std::int64_t mark() override { return driver_->mark().index; }
  [[nodiscard]] double seconds_between(std::int64_t from, std::int64_t to) override {
    return driver_->seconds({from}, {to});
  }
  void forget_marks() override { driver_->forget_marks(); }
  [[nodiscard]] bool can_capture() const override { return true; }
  void begin_capture() override {
    launches_before_capture_ = use_.launches;
    driver_->begin_capture();
  }
  [[nodiscard]] std::unique_ptr<Graph> end_capture() override {
    use_.launches = launches_before_capture_;  // what was captured did not run
    return driver_->end_capture();
  }
  void abandon_capture() noexcept override { driver_->abandon_capture(); }
  void replay(const Graph& graph) override {
    driver_->replay(graph);
    use_.launches += graph.launches();
  }
  [[nodiscard]] octet::gpu::Ranges* ranges() override { return ranges_.get(); }
  [[nodiscard]] std::vector<octet::gpu::TunedProduct> tune() override { return products_->tune(); }
  [[nodiscard]] std::vector<std::string> untuned_products() const override { return products_->untuned(); }

  [[nodiscard]] octet::gpu::Driver& driver() const { return *driver_; }
  [[nodiscard]] octet::gpu::Products& products() const { return *products_; }
  [[nodiscard]] octet::gpu::GroupedProducts& grouped_products() const { return *grouped_products_; }
  [[nodiscard]] int multiprocessors() const { return driver_->facts().multiprocessors; }
  [[nodiscard]] int warp_size() const { return driver_->facts().warp_size; }
  [[nodiscard]] std::size_t shared_bytes() const { return driver_->facts().shared_bytes; }
  [[nodiscard]] int barriers() const { return driver_->facts().barriers; }

  /// The vendor's attention; null where own kernels do all of it.
  [[nodiscard]] octet::gpu::AttentionLibrary* attention() const { return attention_.library.get(); }

  /// Launches the kernel of that name with one struct of arguments.
  template <typename Arguments>
  void launch(const std::string& kernel, const LaunchShape& shape, const Arguments& arguments) const {
    if (shape.blocks_x == 0 || shape.blocks_y == 0) return;  // an empty tensor
    driver_->launch(driver_->kernel(kernel), shape, &arguments, sizeof arguments);
    count_launch();
  }
  /// Of anything but `launch` that an op puts on the driver's stream.
  void count_launch() const { ++use_.launches; }

 private:
  std::unique_ptr<octet::gpu::Driver> driver_;
  std::unique_ptr<octet::gpu::Products> products_;
  std::unique_ptr<octet::gpu::GroupedProducts> grouped_products_;
  fp8::FormatFamily family_;
  octet::gpu::FoundAttention attention_;  // uses the driver's stream
  std::unique_ptr<octet::gpu::Ranges> ranges_;
  mutable DeviceUse use_;  // counts; nothing that is computed depends on it
  std::int64_t launches_before_capture_ = 0;
};

[[nodiscard]] inline const GpuDevice& gpu(const Device& device) {
  return static_cast<const GpuDevice&>(device);
}

/// How a row kernel holds rows up to a length: vectors of eight elements a thread, from which the threads of a block
/// follow, and how many threads a multiprocessor then runs, by the registers of that instance. Each block leaves a row
/// of column maxima, so that the fewer there are, the better: where `block_threads` has room for several rows, and the
/// device for their barriers, a block takes them side by side, if the kernel can.
struct RowTile {
  Index cols_at_most;
  int vectors;
  unsigned resident_threads;
  unsigned block_threads = 0;
};

/// The longest row that a block holds.
inline constexpr Index kLongestRow = 32768;

/// Shared memory of each block that launches leave alone: the driver's, and arrays of fixed size.
inline constexpr std::size_t kReservedShared = 2048;

struct RowWork {
  Index rows, cols;
  std::span<const RowTile> tiles;  ///< the shortest rows first, the last up to kLongestRow
  int column_folds = 0;            ///< parts of shared memory, a row of bf16 each, for sums and maxima by column
  int unused_folds = 0;  ///< the last of these, which nobody wants: without rows ahead, room for them is saved
  int rows_ahead = 0;    ///< parts behind them that hold the next row of an operand, where there is room
};

/// A launch in which a block takes row after row, each held in registers: see kernels/row.h.
struct RowLaunch {
  int vectors;
  LaunchShape shape;
  bool ahead;  ///< the next rows have their room

  [[nodiscard]] Index blocks() const { return shape.blocks_x; }
};

/// UserError where a row is longer than kLongestRow, or than shared memory has room for its sums and maxima.
[[nodiscard]] RowLaunch row_launch(const Device& device, const RowWork& work);

/// "<kernel>_<format>_<vectors>": the instance for the codes; any of the device's formats where none are wanted.
[[nodiscard]] std::string row_kernel(const Device& device, std::string_view kernel, const RowCodes& codes,
                                     const RowLaunch& launch);

/// Blocks of `threads` that cover `count` items.
[[nodiscard]] inline unsigned blocks_for(Index count, unsigned threads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

/// Threads for `items` of a block's work, in whole warps, at most `most`.
[[nodiscard]] unsigned threads_for(const Device& device, Index items, unsigned most);

[[nodiscard]] inline bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

/// Whether rows of `cols` elements of T that start at `data` are all at multiples of 16 bytes. Sizes alone decide in a
/// plan, where pointers are null.
template <typename T>
[[nodiscard]] bool rows_aligned(const T* data, Index cols) {
  return static_cast<std::size_t>(cols) * sizeof(T) % 16 == 0 && is_aligned(data);
}

/// Cuts a workspace into pieces at multiples of 256 bytes, in the same order when measuring and when running.
class WorkspaceCutter {
 public:
  WorkspaceCutter() = default;
  explicit WorkspaceCutter(Workspace workspace) : base_(workspace.data()) {}

  template <typename T>
  [[nodiscard]] T* take(Index count) {
    T* piece = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    return piece;
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace octet::ops::gpu
