// Launches of sums and searches over whole tensors, of the casts' statistics, and clearing.
#include "fp8/formats.h"
#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {
namespace {

constexpr unsigned kThreads = 256;

/// Parts of a sum or search. Never more on a larger device, so that the order of a sum is that of its length alone:
/// eight blocks on each of 128 multiprocessors.
Index parts(Index bytes) {
  constexpr Index kMost = 1024;
  constexpr Index kBytesEach = Index{kThreads} * 64;  // four vectors a thread
  return std::min(kMost, (bytes + kBytesEach - 1) / kBytesEach);
}

template <typename Part>
struct Plan {
  Index count;
  Part* partials;
  LaunchShape shape;
};

template <typename Part>
Plan<Part> plan(Index bytes, WorkspaceCutter& cutter) {
  const Index count = parts(bytes);
  return {count, cutter.take<Part>(count), {.blocks_x = static_cast<unsigned>(count), .threads = kThreads}};
}

template <typename Part>
std::size_t workspace_for(Index bytes) {
  WorkspaceCutter cutter;
  (void)plan<Part>(bytes, cutter);
  return cutter.used();
}

/// total[0] += scale * what the kernel makes of x [count], which takes `bytes`.
void sum_into(const Device& device, const char* kernel, const void* x, Index count, Index bytes, double scale,
              double* total, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const auto [blocks, partials, shape] = plan<double>(bytes, cutter);
  gpu(device).launch(kernel, shape, kernels::SumPartials{x, partials, count, is_aligned(x)});
  gpu(device).launch("finish_sum", {.threads = kThreads},
                     kernels::FinishSum{partials, total, scale, static_cast<int>(blocks)});
}

/// Of an op over one tensor of either dtype.
template <typename Op>
Index bytes_of(const Op& op) {
  return op.count * static_cast<Index>(size_of(op.dtype));
}

struct CastLimits {
  float largest, largest_kept, largest_lost;
};

CastLimits limits_of(fp8::Format format) {
  using fp8::Format;
  const float largest = fp8::info(format).max;
  const float lost = fp8::info(format).min_subnormal / 2;  // a tie goes to the even code, which is zero
  switch (format) {
    case Format::e4m3fn:
      return {largest, fp8::largest_not_overflowing<Format::e4m3fn>(), lost};
    case Format::e4m3fnuz:
      return {largest, fp8::largest_not_overflowing<Format::e4m3fnuz>(), lost};
    case Format::e5m2:
      return {largest, fp8::largest_not_overflowing<Format::e5m2>(), lost};
    case Format::e5m2fnuz:
      return {largest, fp8::largest_not_overflowing<Format::e5m2fnuz>(), lost};
  }
  throw Failure("an unknown format");
}

}  // namespace

std::size_t sum_floats_workspace(const Device&, const SumFloats& op) {
  return workspace_for<double>(op.count * 4);
}

void sum_floats(Device& device, const SumFloats& op, Workspace workspace) {
  sum_into(device, "sum_floats", op.x, op.count, op.count * 4, op.scale, op.total, workspace);
}

std::size_t sum_of_squares_workspace(const Device&, const SumOfSquares& op) {
  return workspace_for<double>(bytes_of(op));
}

void sum_of_squares(Device& device, const SumOfSquares& op, Workspace workspace) {
  sum_into(device, op.dtype == DType::bf16 ? "sum_of_squares_bf16" : "sum_of_squares_f32", op.x, op.count, bytes_of(op),
           1, op.total, workspace);
}

std::size_t find_non_finite_workspace(const Device&, const FindNonFinite& op) {
  return workspace_for<Index>(bytes_of(op));
}

void find_non_finite(Device& device, const FindNonFinite& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const auto [blocks, partials, shape] = plan<Index>(bytes_of(op), cutter);
  gpu(device).launch(op.dtype == DType::bf16 ? "find_non_finite_bf16" : "find_non_finite_f32", shape,
                     kernels::Search{op.x, partials, op.count, is_aligned(op.x)});
  gpu(device).launch("finish_search", {.threads = kThreads},
                     kernels::FinishSearch{partials, op.first, static_cast<int>(blocks)});
}

void cast_statistics(Device& device, const CastStatistics& op, Workspace) {
  const CastLimits limits = limits_of(op.format);
  const Index blocks = std::min(op.rows, Index{gpu(device).multiprocessors()} * 8);
  gpu(device).launch(
      "cast_statistics",
      {.blocks_x = static_cast<unsigned>(blocks), .threads = threads_for(device, (op.cols + 7) / 8, kThreads)},
      kernels::CastStatistics{op.x, op.scale_inverse, op.saturated, op.overflowed, op.underflowed, op.rows,
                              static_cast<int>(op.cols), limits.largest, limits.largest_kept, limits.largest_lost,
                              op.one_scale, rows_aligned(op.x, op.cols)});
}

std::size_t difference_workspace(const Device&, const Difference& op) {
  WorkspaceCutter cutter;
  (void)cutter.take<double>(2 * parts(bytes_of(op)));
  return cutter.used();
}

void difference(Device& device, const Difference& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const Index blocks = parts(bytes_of(op));
  auto* partials = cutter.take<double>(2 * blocks);
  gpu(device).launch(op.dtype == DType::bf16 ? "difference_bf16" : "difference_f32",
                     {.blocks_x = static_cast<unsigned>(blocks), .threads = kThreads},
                     kernels::DifferencePartials{op.reference, op.x, partials, op.count});
  for (Index i = 0; i < 2; ++i) {
    gpu(device).launch("finish_sum", {.threads = kThreads},
                       kernels::FinishSum{partials + i * blocks, op.energies + i, 1.0, static_cast<int>(blocks)});
  }
}

void copy(Device& device, const Copy& op, Workspace) {
  gpu(device).driver().copy(op.to, op.from, static_cast<std::size_t>(op.size));
  gpu(device).count_launch();
}

void zero(Device& device, const Zero& op, Workspace) {
  gpu(device).driver().zero(op.data, static_cast<std::size_t>(op.size));
  gpu(device).count_launch();
}

}  // namespace octet::ops::gpu
