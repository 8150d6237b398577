// The matrix product on the CPU: operands are brought to what oneDNN multiplies, the output is cut into tiles that
// depend on the shape alone, each tile is summed in fp32 by one thread and leaves through one epilogue.
#include <algorithm>

#include "ops/cpu/cpu_device.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/product.h"

namespace octet::ops::cpu {
namespace {

/// Rows and columns of an output tile. An fp32 tile of 256 x 512 is half a MiB: with its operands it stays in L2.
struct TileExtent {
  Index rows, cols;
};

TileExtent choose_tile(const Gemm& op) {
  return {std::min<Index>(op.m, 256), std::min<Index>(op.n, 512)};
}

/// An operand as the tile product reads it: bf16 or f32, row stride and layout as stored.
struct Prepared {
  const std::byte* data;
  Index stride;
  bool transposed;
};

bool needs_copy(const GemmOperand& operand, DType wanted) {
  return operand.dtype != wanted;
}

Prepared place_operand(const GemmOperand& operand, Index outer, Index k, DType wanted, WorkspaceCutter& cutter) {
  const Index stride = operand.transposed ? outer : k;
  if (!needs_copy(operand, wanted)) return {static_cast<const std::byte*>(operand.data), stride, operand.transposed};
  const auto element = static_cast<Index>(size_of(wanted));
  return {cutter.take<std::byte>(outer * k * element), stride, operand.transposed};
}

fp8::Format format_of(DType dtype) {
  switch (dtype) {
    case DType::e4m3fn:
      return fp8::Format::e4m3fn;
    case DType::e4m3fnuz:
      return fp8::Format::e4m3fnuz;
    case DType::e5m2:
      return fp8::Format::e5m2;
    case DType::e5m2fnuz:
      return fp8::Format::e5m2fnuz;
    default:
      throw Failure("a product cannot read {} operands", name(dtype));
  }
}

void fill_operand(const CpuDevice& device, const GemmOperand& operand, const Prepared& prepared, Index count) {
  if (!needs_copy(operand, device.products().operands())) return;
  auto* out = const_cast<std::byte*>(prepared.data);  // our own workspace
  parallel_ranges(device.pool(), count, 32768, [&](Index begin, Index end) {
    convert_operand(device, operand.data, operand.dtype, out, begin, end);
  });
}

/// Everything a run needs, laid out the same way when the workspace is measured.
struct GemmLayout {
  TileExtent tile;
  Prepared a, b;
  std::vector<const TileProduct*> products;  // [row is last][column is last]
  Index scratch_stride;
  std::byte* scratch;  // one piece a thread: the fp32 tile, then oneDNN's own
  std::size_t bytes;
};

GemmLayout lay_out(const CpuDevice& device, const Gemm& op, std::byte* workspace) {
  WorkspaceCutter cutter(workspace);
  GemmLayout layout{};
  const DType operands = device.products().operands();
  layout.tile = choose_tile(op);
  layout.a = place_operand(op.a, op.m, op.k, operands, cutter);
  layout.b = place_operand(op.b, op.n, op.k, operands, cutter);
  const Index last_rows = op.m % layout.tile.rows == 0 ? layout.tile.rows : op.m % layout.tile.rows;
  const Index last_cols = op.n % layout.tile.cols == 0 ? layout.tile.cols : op.n % layout.tile.cols;
  std::size_t product_scratch = 0;
  for (const Index rows : {layout.tile.rows, last_rows}) {
    for (const Index cols : {layout.tile.cols, last_cols}) {
      layout.products.push_back(&device.products().find(
          {rows, cols, op.k, layout.a.stride, layout.b.stride, cols, layout.a.transposed, layout.b.transposed, false}));
      product_scratch = std::max(product_scratch, layout.products.back()->scratch_bytes());
    }
  }
  WorkspaceCutter piece(nullptr);
  (void)piece.take<float>(layout.tile.rows * layout.tile.cols);
  (void)piece.take<std::byte>(static_cast<Index>(product_scratch) + 64);
  layout.scratch_stride = static_cast<Index>(piece.used());
  layout.scratch = cutter.take<std::byte>(layout.scratch_stride * device.threads());
  layout.bytes = cutter.used();
  return layout;
}

void run_tile(const CpuDevice& device, const Gemm& op, Index wanted_rows, const GemmLayout& layout, Index tile_row,
              Index tile_col, std::byte* scratch) {
  const Index row = tile_row * layout.tile.rows;
  const Index col = tile_col * layout.tile.cols;
  const Index rows = std::min(layout.tile.rows, op.m - row);
  const Index cols = std::min(layout.tile.cols, op.n - col);
  const bool last_row = row + rows == op.m;
  const bool last_col = col + cols == op.n;
  const auto element = static_cast<Index>(size_of(device.products().operands()));
  auto* sums = reinterpret_cast<float*>(scratch);
  const auto sums_bytes = (layout.tile.rows * layout.tile.cols * Index{sizeof(float)} + 63) / 64 * 64;
  const auto start = [element](const Prepared& p, Index outer) {
    return p.data + element * (p.transposed ? outer : outer * p.stride);
  };
  layout.products[(last_row ? 2U : 0U) + (last_col ? 1U : 0U)]->run(start(layout.a, row), start(layout.b, col), sums,
                                                                    scratch + sums_bytes);
  const auto scale_at = [](const GemmOperand& operand, Index outer) {
    return operand.axis == ScaleAxis::row ? operand.scale_inverse + outer : operand.scale_inverse;
  };
  device.kernels().epilogue(
      {sums, std::min(rows, wanted_rows - row), cols, scale_at(op.a, row), scale_at(op.b, col),
       op.a.axis == ScaleAxis::tensor, op.b.axis == ScaleAxis::tensor,
       static_cast<std::byte*>(op.d) + (row * op.n + col) * static_cast<Index>(size_of(op.d_dtype)), op.n, op.d_dtype,
       op.accumulate});
}

}  // namespace

void check_operands(const GemmOperand& a, const GemmOperand& b) {
  const bool fp8_a = a.dtype != DType::bf16;
  const bool fp8_b = b.dtype != DType::bf16;
  check(fp8_a == fp8_b, "both operands of a product are FP8, or neither");
  check(!fp8_a || (!a.transposed && !b.transposed), "FP8 operands are contiguous along the contraction");
  if (!fp8_a) return;
  const auto is_fnuz = [](DType dtype) { return dtype == DType::e4m3fnuz || dtype == DType::e5m2fnuz; };
  if (is_fnuz(a.dtype) != is_fnuz(b.dtype)) {
    throw Failure("a product cannot mix {} with {}: the same byte means another value", name(a.dtype), name(b.dtype));
  }
}

void convert_operand(const CpuDevice& device, const void* data, DType dtype, std::byte* out, Index begin, Index end) {
  const RowKernels& kernels = device.kernels();
  const DType wanted = device.products().operands();
  if (dtype == DType::bf16 && wanted == DType::bf16) {
    std::copy(static_cast<const bf16*>(data) + begin, static_cast<const bf16*>(data) + end,
              reinterpret_cast<bf16*>(out) + begin);
  } else if (dtype == DType::bf16) {
    kernels.widen_to_f32(static_cast<const bf16*>(data), reinterpret_cast<float*>(out), begin, end);
  } else if (wanted == DType::bf16) {
    kernels.decode_to_bf16(static_cast<const std::uint8_t*>(data), format_of(dtype), reinterpret_cast<bf16*>(out),
                           begin, end);
  } else {
    kernels.decode_to_f32(static_cast<const std::uint8_t*>(data), format_of(dtype), reinterpret_cast<float*>(out),
                          begin, end);
  }
}

std::size_t product_workspace(const CpuDevice& device, const Gemm& op) {
  if (op.m == 0 || op.n == 0 || op.k == 0) return 0;
  return lay_out(device, op, nullptr).bytes;
}

void run_product(const CpuDevice& device, const Gemm& op, Index rows, Workspace workspace) {
  if (rows == 0 || op.n == 0) return;
  if (op.k == 0) {  // an empty contraction is zero
    if (!op.accumulate)
      std::fill_n(static_cast<std::byte*>(op.d), rows * op.n * static_cast<Index>(size_of(op.d_dtype)), std::byte{0});
    return;
  }
  const GemmLayout layout = lay_out(device, op, workspace.data());
  check(workspace.size() >= layout.bytes, "a product has the workspace that it asked for");
  fill_operand(device, op.a, layout.a, op.m * op.k);
  fill_operand(device, op.b, layout.b, op.n * op.k);
  const Index tile_cols = (op.n + layout.tile.cols - 1) / layout.tile.cols;
  const Index tile_rows = (op.m + layout.tile.rows - 1) / layout.tile.rows;
  device.pool().run(tile_rows * tile_cols, [&](Index task, int thread) {
    run_tile(device, op, rows, layout, task / tile_cols, task % tile_cols,
             layout.scratch + thread * layout.scratch_stride);
  });
}

std::size_t gemm_workspace(const Device& device, const Gemm& op) {
  return product_workspace(cpu(device), op);
}

void run_gemm(Device& device, const Gemm& op, Workspace workspace) {
  check_operands(op.a, op.b);
  check(!op.accumulate || op.d_dtype == DType::f32, "a product accumulates in fp32");
  check(op.d_dtype == DType::f32 || op.d_dtype == DType::bf16, "a product writes bf16 or fp32");
  run_product(cpu(device), op, op.m, workspace);
}

}  // namespace octet::ops::cpu
