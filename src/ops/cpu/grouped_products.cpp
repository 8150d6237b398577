// Grouped products on the CPU: one dense product after another, and the same bits. oneDNN prepares a product for its
// shape, which takes about a millisecond, and groups have any number of rows: so rows are copied and filled up with
// zeros to whole blocks, and few shapes are ever seen.
#include <algorithm>
#include <cstring>
#include <memory>

#include "ops/cpu/moe_entries.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/product.h"

namespace octet::ops::cpu {
namespace {

/// bf16 products sum a row of a tile in the same order whatever its other rows, and zeros change no sum. Those of fp32
/// operands, on older machines, choose their order by the shape, and groups stay as they are.
Index whole_blocks(const CpuDevice& self, Index rows) {
  constexpr Index kRowBlock = 32;
  if (self.products().operands() != DType::bf16) return rows;
  return (rows + kRowBlock - 1) / kRowBlock * kRowBlock;
}

/// Workspace: one piece for each side that is copied, and what the product of a group takes.
struct Pieces {
  std::byte* a = nullptr;
  std::byte* b = nullptr;
  Workspace rest;
};

Index copy_bytes(const CpuDevice& self, Index elements) {
  return (elements * static_cast<Index>(size_of(self.products().operands())) + 63) / 64 * 64;
}

Pieces cut(Workspace workspace, Index a_bytes, Index b_bytes) {
  return {workspace.data(), workspace.data() + a_bytes, workspace.subspan(static_cast<std::size_t>(a_bytes + b_bytes))};
}

/// What oneDNN takes for a shape it says when it sees it. The workspace is that of the largest group; should a smaller
/// one ever want more, it is given that.
void run_group(Device& device, const Gemm& product, Index rows, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  const std::size_t bytes = product_workspace(self, product);
  if (bytes <= workspace.size()) return run_product(self, product, rows, workspace);
  const std::shared_ptr<std::byte> larger = device.allocator()(bytes);
  run_product(self, product, rows, {larger.get(), bytes});
}

/// Rows [first, first + rows) of `operand` [*, cols], filled up with zeros to `blocks` rows.
void copy_rows(const CpuDevice& self, const GemmOperand& operand, Index first, Index rows, Index blocks, Index cols,
               std::byte* out) {
  const auto* data =
      static_cast<const std::byte*>(operand.data) + first * cols * static_cast<Index>(size_of(operand.dtype));
  parallel_ranges(self.pool(), rows * cols, 32768,
                  [&](Index begin, Index end) { convert_operand(self, data, operand.dtype, out, begin, end); });
  const auto element = static_cast<Index>(size_of(self.products().operands()));
  std::memset(out + rows * cols * element, 0, static_cast<std::size_t>((blocks - rows) * cols * element));
}

// ---- rows grouped ---------------------------------------------------------------------------------------------------

/// The product of group `e`, of `m` rows at `rows_of_group`.
Gemm product_of(const CpuDevice& self, const GroupedGemm& op, Index e, Index first, Index m, std::byte* rows_of_group) {
  const auto scales = [&](const GemmOperand& operand, Index offset) {
    return operand.scale_inverse == nullptr ? nullptr : operand.scale_inverse + offset;
  };
  Gemm product{};
  product.a = {rows_of_group, scales(op.a, first), self.products().operands(), op.a.axis, false};
  product.b = op.b;
  product.b.data = static_cast<const std::byte*>(op.b.data) + e * op.n * op.k * static_cast<Index>(size_of(op.b.dtype));
  product.b.scale_inverse = scales(op.b, e * op.n);
  product.d = op.d + first * op.n;
  product.m = m;
  product.n = op.n;
  product.k = op.k;
  product.d_dtype = DType::bf16;
  product.accumulation = op.accumulation;
  return product;
}

// ---- the contraction grouped ----------------------------------------------------------------------------------------

/// A side's part in group `e`, filled up to a contraction of `k`: codes side by side, [outer, k], which zeros follow
/// where they are, or rows, [k, outer].
void copy_side(const CpuDevice& self, const GroupedWgrad& op, const GemmOperand& side, Index e, Index outer, Index k,
               std::byte* out) {
  if (!op.is_fp8()) {
    const Index first = op.groups.offsets[e];
    return copy_rows(self, side, first, op.groups.offsets[e + 1] - first, k, outer, out);
  }
  const Index stride = padded_rows(op.groups.rows, op.groups.experts);
  const auto* codes = static_cast<const std::uint8_t*>(side.data) + op.groups.padded_offsets[e];
  const auto element = static_cast<Index>(size_of(self.products().operands()));
  parallel_ranges(self.pool(), outer, std::max<Index>(1, 32768 / k), [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      convert_operand(self, codes + i * stride, side.dtype, out + i * k * element, 0, k);
    }
  });
}

Gemm product_of(const CpuDevice& self, const GroupedWgrad& op, Index e, Index k, const Pieces& pieces) {
  const auto side = [&](const GemmOperand& operand, Index outer, const std::byte* data) {
    return GemmOperand{data, operand.scale_inverse == nullptr ? nullptr : operand.scale_inverse + e * outer,
                       self.products().operands(), operand.axis, operand.transposed};
  };
  Gemm product{};
  product.a = side(op.a, op.m, pieces.a);
  product.b = side(op.b, op.n, pieces.b);
  product.d = static_cast<std::byte*>(op.d) + e * op.m * op.n * static_cast<Index>(size_of(op.d_dtype));
  product.m = op.m;
  product.n = op.n;
  product.k = k;
  product.d_dtype = op.d_dtype;
  product.accumulate = op.accumulate;
  product.accumulation = op.accumulation;
  return product;
}

}  // namespace

std::size_t grouped_gemm_workspace(const Device& device, const GroupedGemm& op) {
  const CpuDevice& self = cpu(device);
  const Index rows = whole_blocks(self, op.groups.rows);
  return static_cast<std::size_t>(copy_bytes(self, rows * op.k)) +
         product_workspace(self, product_of(self, op, 0, 0, rows, nullptr));
}

void run_grouped_gemm(Device& device, const GroupedGemm& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  check_operands(op.a, op.b);
  check(!op.a.transposed, "routed rows are not transposed");
  const Pieces pieces = cut(workspace, copy_bytes(self, whole_blocks(self, op.groups.rows) * op.k), 0);
  for (Index e = 0; e < op.groups.experts; ++e) {
    const Index first = op.groups.offsets[e];
    const Index rows = op.groups.offsets[e + 1] - first;
    if (rows == 0) continue;
    const Index blocks = whole_blocks(self, rows);
    copy_rows(self, op.a, first, rows, blocks, op.k, pieces.a);
    run_group(device, product_of(self, op, e, first, blocks, pieces.a), rows, pieces.rest);
  }
}

std::size_t grouped_wgrad_workspace(const Device& device, const GroupedWgrad& op) {
  const CpuDevice& self = cpu(device);
  const Index k = whole_blocks(self, op.groups.rows);
  return static_cast<std::size_t>(copy_bytes(self, op.m * k) + copy_bytes(self, op.n * k)) +
         product_workspace(self, product_of(self, op, 0, k, {}));
}

void run_grouped_wgrad(Device& device, const GroupedWgrad& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  check_operands(op.a, op.b);
  check(op.is_fp8() || (op.a.transposed && op.b.transposed), "the rows of a group are what wgrad contracts");
  check(!op.accumulate || op.d_dtype == DType::f32, "a product accumulates in fp32");
  const Index largest = whole_blocks(self, op.groups.rows);
  const Pieces pieces = cut(workspace, copy_bytes(self, op.m * largest), copy_bytes(self, op.n * largest));
  for (Index e = 0; e < op.groups.experts; ++e) {
    const Index k = whole_blocks(self, op.groups.offsets[e + 1] - op.groups.offsets[e]);
    if (k > 0) {
      copy_side(self, op, op.a, e, op.m, k, pieces.a);
      copy_side(self, op, op.b, e, op.n, k, pieces.b);
    }
    run_group(device, product_of(self, op, e, k, pieces), op.m, pieces.rest);
  }
}

}  // namespace octet::ops::cpu
