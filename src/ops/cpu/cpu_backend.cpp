// The CPU's op table: each entry gives ranges of its rows, columns or elements to threads.
#include "ops/cpu/cpu_backend.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "ops/cpu/cpu_device.h"
#include "ops/cpu/measured_rows.h"
#include "ops/cpu/moe_entries.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/row_scale.h"

namespace octet::ops {
namespace cpu {
namespace {

/// Elements per range of an element-wise kernel; partial sums are kept per range, so it must never depend on threads.
constexpr Index kElementGrain = 1 << 16;

/// Bytes of a row that is not stored: each thread has one.
template <typename Op>
std::size_t unstored_row_bytes(const Op& op, Index cols) {
  return op.stored ? 0 : padded(static_cast<std::size_t>(cols) * sizeof(bf16));
}

template <typename Op>
std::size_t storing_workspace(const Device& device, const Op& op, Index cols) {
  return static_cast<std::size_t>(cpu(device).threads()) * unstored_row_bytes(op, cols) +
         (op.columns.wanted ? ColumnFold::workspace(device, cols) : 0);
}

/// The same for kernels that need not store what they measure.
template <auto Kernel, typename Op>
void run_storing_rows(Device& device, const Op& op, Workspace workspace, Index cols, Index bytes_per_row) {
  const CpuDevice& self = cpu(device);
  const std::size_t row_bytes = unstored_row_bytes(op, cols);
  const Workspace of_fold = workspace.subspan(static_cast<std::size_t>(self.threads()) * row_bytes);
  measure_rows(self, of_fold, op.rows, cols, bytes_per_row, op.columns.amax,
               [&](Index begin, Index end, std::uint16_t* column_maxima, int thread) {
                 auto* row = reinterpret_cast<bf16*>(workspace.data() + static_cast<std::size_t>(thread) * row_bytes);
                 (self.kernels().*Kernel)(op, begin, end, column_maxima, row);
               });
}

/// The scales of columns, in the workspace; writes their inverses.
float* make_column_scales(const ColumnCodes& codes, Index cols, Workspace workspace) {
  auto* scales = reinterpret_cast<float*>(workspace.data());
  for (Index i = 0; i < cols; ++i) {
    const RowScale scale = row_scale(codes.rule, codes.amax[i].bits);
    scales[i] = scale.scale;
    codes.scale_inverse[i] = scale.inverse;
  }
  return scales;
}

void embedding_forward(Device& device, const EmbeddingForward& op, Workspace) {
  run_rows<&RowKernels::embedding_forward>(device, op, op.rows, op.dim * 4);
}

std::size_t embedding_backward_workspace(const Device&, const EmbeddingBackward& op) {
  return static_cast<std::size_t>(op.rows) * sizeof(std::int32_t);
}

void embedding_backward(Device& device, const EmbeddingBackward& op, Workspace workspace) {
  auto* order = reinterpret_cast<std::int32_t*>(workspace.data());
  std::iota(order, order + op.rows, 0);
  std::sort(order, order + op.rows,
            [&](std::int32_t a, std::int32_t b) { return std::pair(op.tokens[a], a) < std::pair(op.tokens[b], b); });
  const CpuDevice& self = cpu(device);
  parallel_ranges(self.pool(), op.dim, 64,
                  [&](Index begin, Index end) { self.kernels().embedding_backward(op, order, begin, end); });
}

std::size_t rmsnorm_forward_workspace(const Device& device, const RmsNormForward& op) {
  return storing_workspace(device, op, op.dim);
}

void rmsnorm_forward(Device& device, const RmsNormForward& op, Workspace workspace) {
  run_storing_rows<&RowKernels::rmsnorm_forward>(device, op, workspace, op.dim, op.dim * 8);
}

std::size_t rmsnorm_forward_cast_workspace(const Device&, const RmsNormForwardCast& op) {
  return static_cast<std::size_t>(op.dim) * sizeof(float);
}

void rmsnorm_forward_cast(Device& device, const RmsNormForwardCast& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  const float* scales = make_column_scales(op.transposed, op.dim, workspace);
  parallel_ranges(self.pool(), op.dim, kColumnBlock,
                  [&](Index begin, Index end) { self.kernels().rmsnorm_forward_cast(op, scales, begin, end); });
}

std::size_t rmsnorm_partials_bytes(Index dim) {
  return padded(static_cast<std::size_t>(kColumnPartials * dim) * sizeof(float));
}

std::size_t rmsnorm_backward_workspace(const Device& device, const RmsNormBackward& op) {
  return rmsnorm_partials_bytes(op.dim) + (op.columns.wanted ? ColumnFold::workspace(device, op.dim) : 0);
}

void rmsnorm_backward(Device& device, const RmsNormBackward& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  const std::size_t partials_bytes = rmsnorm_partials_bytes(op.dim);
  auto* partials = reinterpret_cast<float*>(workspace.data());
  std::memset(workspace.data(), 0, partials_bytes);
  std::optional<ColumnFold> fold;
  if (op.columns.amax != nullptr) fold.emplace(self, workspace.subspan(partials_bytes), op.dim);
  const Index rows_per_partial = (op.rows + kColumnPartials - 1) / kColumnPartials;
  self.pool().run(kColumnPartials, [&](Index partial, int thread) {
    const Index begin = std::min(op.rows, partial * rows_per_partial);
    const Index end = std::min(op.rows, begin + rows_per_partial);
    self.kernels().rmsnorm_backward(op, begin, end, partials + partial * op.dim,
                                    fold ? fold->of_thread(thread) : nullptr);
  });
  if (fold) fold->write(op.columns.amax);
  parallel_ranges(self.pool(), op.dim, 1024, [&](Index begin, Index end) {
    self.kernels().column_sums(partials, kColumnPartials, op.dim, op.dweight, begin, end);
  });
}

std::size_t rope_workspace(const Device& device, const Rope& op) {
  return op.columns.wanted ? ColumnFold::workspace(device, op.row_stride) : 0;
}

void rope(Device& device, const Rope& op, Workspace workspace) {
  run_measured_rows<&RowKernels::rope>(device, op, workspace, op.rows, op.row_stride, op.row_stride * 4,
                                       op.columns.amax);
}

void append_to_cache(Device&, const AppendToCache& op, Workspace) {
  const Index key_cols = op.kv_heads * op.head_dim;
  const Index value_cols = op.kv_heads * op.value_dim;
  for (Index row = 0; row < op.batch * op.seq_len; ++row) {
    const bf16* keys = op.qkv + row * op.qkv_cols() + op.heads * op.head_dim;
    const Index place = row / op.seq_len * op.capacity + op.position + row % op.seq_len;
    std::copy_n(keys, key_cols, op.cache_k + place * key_cols);
    std::copy_n(keys + key_cols, value_cols, op.cache_v + place * value_cols);
  }
}

void attention_decode(Device& device, const AttentionDecode& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  auto* scores = reinterpret_cast<float*>(workspace.data());
  self.pool().run(op.batch * op.heads, [&](Index task, int thread) {
    self.kernels().attention_decode(op, task, task + 1, scores + thread * op.capacity);
  });
}

std::size_t attention_decode_workspace(const Device& device, const AttentionDecode& op) {
  return static_cast<std::size_t>(cpu(device).threads() * op.capacity) * sizeof(float);
}

std::size_t swiglu_forward_workspace(const Device& device, const SwigluForward& op) {
  return storing_workspace(device, op, op.dim);
}

void swiglu_forward(Device& device, const SwigluForward& op, Workspace workspace) {
  run_storing_rows<&RowKernels::swiglu_forward>(device, op, workspace, op.dim, op.dim * 6);
}

std::size_t swiglu_backward_workspace(const Device& device, const SwigluBackward& op) {
  return storing_workspace(device, op, 2 * op.dim);
}

void swiglu_backward(Device& device, const SwigluBackward& op, Workspace workspace) {
  run_storing_rows<&RowKernels::swiglu_backward>(device, op, workspace, 2 * op.dim, op.dim * 10);
}

std::size_t swiglu_backward_cast_workspace(const Device&, const SwigluBackwardCast& op) {
  return static_cast<std::size_t>((op.activated.wanted ? 3 : 2) * op.dim) * sizeof(float);
}

void swiglu_backward_cast(Device& device, const SwigluBackwardCast& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  const float* scales = make_column_scales(op.transposed, 2 * op.dim, workspace);
  if (op.activated.wanted) {
    make_column_scales(op.activated, op.dim, workspace.subspan(static_cast<std::size_t>(2 * op.dim) * sizeof(float)));
  }
  parallel_ranges(self.pool(), op.dim, kColumnBlock / 2,
                  [&](Index begin, Index end) { self.kernels().swiglu_backward_cast(op, scales, begin, end); });
}

void cross_entropy(Device& device, const CrossEntropy& op, Workspace) {
  run_rows<&RowKernels::cross_entropy>(device, op, op.rows, op.vocab * 4);
}

/// Sums ranges in parallel and adds their sums in order.
template <typename Body>
double ordered_sum(const CpuDevice& device, Index count, const Body& body) {
  std::vector<double> partials(static_cast<std::size_t>((count + kElementGrain - 1) / kElementGrain));
  parallel_ranges(device.pool(), count, kElementGrain, [&](Index begin, Index end) {
    partials[static_cast<std::size_t>(begin / kElementGrain)] = body(begin, end);
  });
  double total = 0;
  for (const double partial : partials) total += partial;
  return total;
}

void sum_floats(Device& device, const SumFloats& op, Workspace) {
  const CpuDevice& self = cpu(device);
  *op.total += op.scale * ordered_sum(self, op.count,
                                      [&](Index begin, Index end) { return self.kernels().sum(op.x, begin, end); });
}

void sum_of_squares(Device& device, const SumOfSquares& op, Workspace) {
  const CpuDevice& self = cpu(device);
  *op.total += ordered_sum(self, op.count, [&](Index begin, Index end) {
    return op.dtype == DType::bf16 ? self.kernels().sum_of_squares_bf16(static_cast<const bf16*>(op.x), begin, end)
                                   : self.kernels().sum_of_squares_f32(static_cast<const float*>(op.x), begin, end);
  });
}

void zero(Device& device, const Zero& op, Workspace) {
  parallel_ranges(cpu(device).pool(), op.size, 1 << 20, [&](Index begin, Index end) {
    std::memset(static_cast<std::byte*>(op.data) + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

std::size_t adamw_workspace(const Device& device, const AdamW& op) {
  return op.measures ? ColumnFold::workspace(device, op.cols) : 0;
}

void adamw(Device& device, const AdamW& op, Workspace workspace) {
  measure_matrices<&RowKernels::adamw>(device, op, workspace, op.cols * 30, op.measures ? op.column_amax : nullptr);
}

void find_non_finite(Device& device, const FindNonFinite& op, Workspace) {
  const CpuDevice& self = cpu(device);
  std::vector<Index> found(static_cast<std::size_t>((op.count + kElementGrain - 1) / kElementGrain), -1);
  parallel_ranges(self.pool(), op.count, kElementGrain, [&](Index begin, Index end) {
    found[static_cast<std::size_t>(begin / kElementGrain)] =
        op.dtype == DType::bf16 ? self.kernels().find_non_finite_bf16(static_cast<const bf16*>(op.x), begin, end)
                                : self.kernels().find_non_finite_f32(static_cast<const float*>(op.x), begin, end);
  });
  const auto first = std::find_if(found.begin(), found.end(), [](Index index) { return index >= 0; });
  *op.first = first == found.end() ? -1 : *first;
}

void copy(Device& device, const Copy& op, Workspace) {
  parallel_ranges(cpu(device).pool(), op.size, 1 << 16, [&](Index begin, Index end) {
    std::memcpy(static_cast<std::byte*>(op.to) + begin, static_cast<const std::byte*>(op.from) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

std::size_t difference_workspace(const Device&, const Difference& op) {
  return static_cast<std::size_t>((op.count + kElementGrain - 1) / kElementGrain) * 2 * sizeof(double);
}

/// Two sums of each range, added in order.
void difference(Device& device, const Difference& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  auto* partials = reinterpret_cast<double*>(workspace.data());
  parallel_ranges(self.pool(), op.count, kElementGrain, [&](Index begin, Index end) {
    double* energies = partials + 2 * (begin / kElementGrain);
    if (op.dtype == DType::bf16) {
      self.kernels().difference_bf16(static_cast<const bf16*>(op.reference), static_cast<const bf16*>(op.x), begin, end,
                                     energies);
    } else {
      self.kernels().difference_f32(static_cast<const float*>(op.reference), static_cast<const float*>(op.x), begin,
                                    end, energies);
    }
  });
  double signal = 0;
  double noise = 0;
  for (Index begin = 0; begin < op.count; begin += kElementGrain, partials += 2) {
    signal += partials[0];
    noise += partials[1];
  }
  op.energies[0] += signal;
  op.energies[1] += noise;
}

// The order is that of AllOps; the tuple's types make any other order an error.
constexpr OpTable table = {
    {&embedding_forward, nullptr},
    {&embedding_backward, &embedding_backward_workspace},
    {&rmsnorm_forward, &rmsnorm_forward_workspace},
    {&rmsnorm_forward_cast, &rmsnorm_forward_cast_workspace},
    {&rmsnorm_backward, &rmsnorm_backward_workspace},
    {&rope, &rope_workspace},
    {&run_attention_forward, &attention_forward_workspace},
    {&run_attention_backward, &attention_backward_workspace},
    {&append_to_cache, nullptr},
    {&attention_decode, &attention_decode_workspace},
    {&swiglu_forward, &swiglu_forward_workspace},
    {&swiglu_backward, &swiglu_backward_workspace},
    {&swiglu_backward_cast, &swiglu_backward_cast_workspace},
    {&run_quantize_rows, &quantize_rows_workspace},
    {&run_maxima, &maxima_workspace},
    {&run_cast, &cast_workspace},
    {&run_cast_statistics, nullptr},
    {&run_gemm, &gemm_workspace},
    {&cross_entropy, nullptr},
    {&sum_floats, nullptr},
    {&zero, nullptr},
    {&sum_of_squares, nullptr},
    {&adamw, &adamw_workspace},
    {&find_non_finite, nullptr},
    {&copy, nullptr},
    {&difference, &difference_workspace},
    {&run_route, &route_workspace},
    {&run_route_backward, &route_backward_workspace},
    {&run_balance_bias, nullptr},
    {&run_group_tokens, nullptr},
    {&run_gather_rows, &gather_rows_workspace},
    {&run_gather_rows_cast, nullptr},
    {&run_combine_rows, nullptr},
    {&run_grouped_swiglu_forward, &grouped_swiglu_forward_workspace},
    {&run_grouped_swiglu_backward, &grouped_swiglu_backward_workspace},
    {&run_grouped_swiglu_cast, nullptr},
    {&run_grouped_gemm, &grouped_gemm_workspace},
    {&run_grouped_wgrad, &grouped_wgrad_workspace},
    {&run_mla_assemble, nullptr},
    {&run_mla_assemble_backward, nullptr},
    {&run_add, nullptr},
    {&run_shift_tokens, nullptr},
    {&run_head_norm_rope, nullptr},
    {&run_head_norm_rope_backward, &head_norm_rope_backward_workspace},
};

}  // namespace

namespace {

/// The processors that this process may run on.
int available_cores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return CPU_COUNT(&allowed);
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

CpuDevice::CpuDevice(int threads, CpuIsa isa)
    : pool_(threads > 0 ? threads : available_cores()),
      isa_(isa),
      kernels_(&row_kernels(isa)),
      products_(TileProducts::fastest_operands()) {}

std::string CpuDevice::description() const {
  return fmt::format("{} threads, kernels {}, {}", threads(), name(isa_), TileProducts::description());
}

std::vector<fp8::FormatFamily> CpuDevice::families() const {
  return {fp8::FormatFamily::ocp, fp8::FormatFamily::fnuz};
}

ArenaAllocator CpuDevice::allocator() {
  return [](std::size_t bytes) {
    void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
      throw UserError(
          "the plan needs {:.2f} GiB of memory and this machine cannot give it: lower training.batch_size "
          "or training.seq_len (--dry-run prints the plan)",
          static_cast<double>(bytes) / (1U << 30U));
    }
    madvise(block, bytes, MADV_HUGEPAGE);
    return std::shared_ptr<std::byte>(static_cast<std::byte*>(block), [bytes](std::byte* p) { munmap(p, bytes); });
  };
}

}  // namespace cpu

std::unique_ptr<Backend> make_cpu_backend(int threads, CpuIsa isa) {
  if (isa > detect_cpu_isa()) {
    throw UserError("this machine has no {}: the best kernels it runs are {}", name(isa), name(detect_cpu_isa()));
  }
  return std::make_unique<Backend>("cpu", std::make_unique<cpu::CpuDevice>(threads, isa), cpu::table);
}

}  // namespace octet::ops
