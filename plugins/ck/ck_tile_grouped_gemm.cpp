// Grouped products by ck_tile's persistent kernels, whose arguments a small kernel makes on the device from the
// offsets: nothing waits for the host. Compiled as HIP, where ROCm's Composable Kernel is.
//
// NOT COMPILED AGAINST COMPOSABLE KERNEL, NOT RUN ON HARDWARE: written from its public headers of ROCm 7.2
// (ck_tile/ops/gemm/kernel/grouped_gemm_kernel.hpp, ck_tile/ops/gemm_quant/kernel/grouped_gemm_quant_kernel.hpp).
#include <hip/hip_runtime.h>

#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <type_traits>

#include "ck_tile/core.hpp"
#include "ck_tile/host.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/ops/elementwise/unary_element_wise_operation.hpp"
#include "ck_tile/ops/epilogue.hpp"
#include "ck_tile/ops/gemm.hpp"
#include "ck_tile/ops/gemm_quant.hpp"
#include "grouped_gemm.h"

namespace octet_ck {
namespace {

using ck_tile::index_t;
using ck_tile::QuantType;
using RowMajor = ck_tile::tensor_layout::gemm::RowMajor;
using ColumnMajor = ck_tile::tensor_layout::gemm::ColumnMajor;

void check(hipError_t result, const char* what) {
  if (result != hipSuccess) throw std::runtime_error(std::string(what) + ": " + hipGetErrorString(result));
}

/// The tiles of a kernel, and what it does with their results: D [M, N] lies row by row.
template <typename A, typename B, typename D>
struct Shape {
  static constexpr bool kIsFp8 = !std::is_same_v<A, ck_tile::bfloat16_t>;
  static constexpr index_t kTileM = 256, kTileN = 128, kTileK = kIsFp8 ? 128 : 64;
  static constexpr index_t kWarps = 2;  // along M, and along N
  static constexpr index_t kWarpTile = kIsFp8 ? 16 : 32;
#if defined(OCTET_CK_GFX950)
  static constexpr index_t kWarpTileK = kIsFp8 ? 128 : 16;
#else
  static constexpr index_t kWarpTileK = kIsFp8 ? 32 : 16;
#endif
  using Gemm = ck_tile::TileGemmShape<ck_tile::sequence<kTileM, kTileN, kTileK>, ck_tile::sequence<kWarps, kWarps, 1>,
                                      ck_tile::sequence<kWarpTile, kWarpTile, kWarpTileK>>;
  using Partitioner = ck_tile::GemmSpatiallyLocalTilePartitioner<Gemm, 8, 4>;

  template <typename Problem>
  using Epilogue = ck_tile::CShuffleEpilogue<ck_tile::CShuffleEpilogueProblem<
      A, B, ck_tile::tuple<>, float, D, ck_tile::tuple<>, RowMajor, ck_tile::element_wise::PassThrough,
      Partitioner::MPerBlock, Partitioner::NPerBlock, kWarps, kWarps, kWarpTile, kWarpTile, kWarpTileK,
      Problem::TransposeC>>;
};

/// bf16. A [M, K] lies row by row, or with ColumnMajor as [K, M]; B [N, K] does with ColumnMajor, or as [K, N]. PadK: K
/// of a group need not be a multiple of the tile's.
template <typename D, typename LayoutA, typename LayoutB, bool PadK>
struct PlainKernel {
  using Bf16 = ck_tile::bfloat16_t;
  using S = Shape<Bf16, Bf16, D>;
  using Traits = ck_tile::PersistentTileGemmUniversalTraits<false, true, PadK, false, LayoutA, LayoutB, RowMajor>;
  using Problem = ck_tile::UniversalGemmPipelineProblem<Bf16, Bf16, float, typename S::Gemm, Traits,
                                                        ck_tile::GemmPipelineScheduler::Intrawave>;
  using Kernel = ck_tile::GroupedGemmKernel<typename S::Partitioner, ck_tile::GemmPipelineAgBgCrCompV3<Problem>,
                                            typename S::template Epilogue<Problem>>;
  using Arguments = ck_tile::GemmTransKernelArg<>;
};

/// FP8, whose scales the epilogue applies: one for an operand, or one for each row of A and of B.
template <typename A, typename B, typename D, bool PadK, QuantType Scales>
struct ScaledKernel {
  using S = Shape<A, B, D>;
  using Traits = ck_tile::TileGemmQuantTraits<false, true, PadK, false, false, false, RowMajor, ColumnMajor, RowMajor,
                                              Scales, RowMajor, ColumnMajor, false, false, true>;
  using Problem = ck_tile::GemmRowColTensorQuantPipelineProblem<A, B, float, float, typename S::Gemm, Traits>;
  using Kernel = ck_tile::QuantGroupedGemmKernel<typename S::Partitioner, ck_tile::GemmPipelineAgBgCrCompV3<Problem>,
                                                 typename S::template Epilogue<Problem>, Scales>;
  using Arguments = ck_tile::QuantGemmTransKernelArg;
};

/// What the kernels of a product have in common; where a group begins depends on the offsets.
struct Groups {
  const char* a;
  const char* b;
  const float* a_scales;
  const float* b_scales;
  char* d;
  const std::int32_t* offsets;
  std::int64_t a_step, b_step, d_step;                      // bytes, for each row or column before the group
  std::int64_t b_group, d_group;                            // bytes, for each group before it
  std::int64_t a_scale_step, a_scale_group, b_scale_group;  // scales, likewise
  index_t count, m, n, k;                                   // m or k, whichever the offsets decide, is 0
  index_t stride_a, stride_b;
};

/// Arguments of group g, which ck_tile reads in an array of the kernel's own type. A group without rows or columns has
/// no tiles.
template <typename Arguments>
__global__ void make_arguments(Groups groups, Arguments* arguments) {
  const index_t g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= groups.count) return;
  const std::int64_t first = groups.offsets[g];
  const auto extent = static_cast<index_t>(groups.offsets[g + 1] - first);
  const index_t m = groups.m == 0 ? extent : (extent == 0 ? 0 : groups.m);
  const index_t k = groups.k == 0 ? extent : groups.k;
  const void* a = groups.a + first * groups.a_step;
  const void* b = groups.b + first * groups.b_step + g * groups.b_group;
  void* d = groups.d + first * groups.d_step + g * groups.d_group;
  if constexpr (std::is_same_v<Arguments, ck_tile::QuantGemmTransKernelArg>) {
    const void* a_scales = groups.a_scales + first * groups.a_scale_step + g * groups.a_scale_group;
    const void* b_scales = groups.b_scales + g * groups.b_scale_group;
    new (&arguments[g].group_karg) ck_tile::QuantGroupedGemmKernelArgs{
        a, b, a_scales, b_scales, d, m, groups.n, k, 1, 1, groups.stride_a, groups.stride_b, groups.n, 1, 1, 1};
  } else {
    new (&arguments[g].group_karg) ck_tile::UniversalGemmKernelArgs<>{
        {a}, {b}, {}, d, m, groups.n, k, {groups.stride_a}, {groups.stride_b}, {}, groups.n, 1};
  }
}

/// D of groups without columns, which have no tile that would write it.
template <typename D>
__global__ void clear_empty_groups(const std::int32_t* offsets, D* d, std::int64_t results) {
  if (offsets[blockIdx.y] != offsets[blockIdx.y + 1]) return;
  const std::int64_t step = std::int64_t{blockDim.x} * gridDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < results; i += step) {
    d[blockIdx.y * results + i] = D(0);
  }
}

template <typename Chosen>
void launch(const Groups& groups, void* workspace, hipStream_t stream) {
  using Kernel = typename Chosen::Kernel;
  auto* arguments = static_cast<typename Chosen::Arguments*>(workspace);
  constexpr unsigned kThreads = 256;
  make_arguments<<<(groups.count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(groups, arguments);
  check(hipGetLastError(), "making arguments of a grouped product");
  const ck_tile::stream_config config{stream};
  ck_tile::launch_kernel(
      config, ck_tile::make_kernel<1>(Kernel{}, Kernel::MaxOccupancyGridSize(config), Kernel::BlockSize(), 0,
                                      ck_tile::cast_pointer_to_constant_address_space(workspace), groups.count));
  check(hipGetLastError(), "a grouped product");
}

template <typename A, typename B, typename D, bool PadK>
void launch_scaled(const Groups& groups, bool by_rows, void* workspace, hipStream_t stream) {
  if (by_rows) {
    launch<ScaledKernel<A, B, D, PadK, QuantType::RowColQuant>>(groups, workspace, stream);
  } else {
    launch<ScaledKernel<A, B, D, PadK, QuantType::TensorQuant>>(groups, workspace, stream);
  }
}

bool is_e5m2(std::int32_t type) {
  return type == OCTET_CK_E5M2 || type == OCTET_CK_E5M2FNUZ;
}

/// ck_tile's fp8_t and bf8_t are of the family that the processor multiplies.
template <typename D, bool PadK>
void launch_fp8(std::int32_t a, std::int32_t b, const Groups& groups, bool by_rows, void* workspace,
                hipStream_t stream) {
  using E4m3 = ck_tile::fp8_t;
  using E5m2 = ck_tile::bf8_t;
  if (is_e5m2(a) && is_e5m2(b)) throw Refusal("two operands of e5m2");
  if (is_e5m2(a)) {
    launch_scaled<E5m2, E4m3, D, PadK>(groups, by_rows, workspace, stream);
  } else if (is_e5m2(b)) {
    launch_scaled<E4m3, E5m2, D, PadK>(groups, by_rows, workspace, stream);
  } else {
    launch_scaled<E4m3, E4m3, D, PadK>(groups, by_rows, workspace, stream);
  }
}

index_t size(std::int64_t x) {
  if (x > std::numeric_limits<index_t>::max()) throw Refusal("a size of a grouped product beyond 32 bits");
  return static_cast<index_t>(x);
}

std::int64_t size_of(std::int32_t type) {
  if (type == OCTET_CK_F32) return 4;
  return type == OCTET_CK_BF16 ? 2 : 1;
}

void refuse_odd(std::int64_t x, std::int64_t multiple, const char* what) {
  if (x % multiple != 0) throw Refusal(std::string(what) + " is no multiple of " + std::to_string(multiple));
}

template <typename D>
void multiply_columns_to(const octet_ck_columns_grouped& p, const Groups& groups, void* workspace, hipStream_t stream) {
  const dim3 blocks(64, static_cast<unsigned>(p.groups));
  clear_empty_groups<<<blocks, 256, 0, stream>>>(p.offsets, static_cast<D*>(p.d), p.n * p.k);
  check(hipGetLastError(), "clearing results of a grouped product");
  if (p.a_type != OCTET_CK_BF16) {
    launch_fp8<D, true>(p.a_type, p.b_type, groups, p.scale == OCTET_CK_SCALE_ROW, workspace, stream);
  } else if (p.transposed != 0) {
    launch<PlainKernel<D, ColumnMajor, RowMajor, true>>(groups, workspace, stream);
  } else {
    launch<PlainKernel<D, RowMajor, ColumnMajor, true>>(groups, workspace, stream);
  }
}

}  // namespace

const char* implementation() {
  return "Composable Kernel (ck_tile)";
}

std::string device_arch() {
  int device = 0;
  hipDeviceProp_t properties{};
  check(hipGetDevice(&device), "asking for the device");
  check(hipGetDeviceProperties(&properties, device), "asking for the device's properties");
  const std::string arch = properties.gcnArchName;
  return arch.substr(0, arch.find(':'));
}

std::size_t workspace_bytes(std::int32_t groups) {
  constexpr std::size_t kPlain = sizeof(ck_tile::GemmTransKernelArg<>);
  constexpr std::size_t kScaled = sizeof(ck_tile::QuantGemmTransKernelArg);
  return static_cast<std::size_t>(groups) * (kPlain > kScaled ? kPlain : kScaled);
}

void multiply_rows(const octet_ck_rows_grouped& p, void* workspace, void* stream) {
  const std::int64_t each = size_of(p.a_type);
  const bool by_rows = p.scale == OCTET_CK_SCALE_ROW;
  refuse_odd(p.k, each == 1 ? 128 : 64, "k");
  refuse_odd(p.n, 8, "n");  // 16 bytes of a row of D
  const Groups groups{.a = static_cast<const char*>(p.a),
                      .b = static_cast<const char*>(p.b),
                      .a_scales = p.a_scale_inverse,
                      .b_scales = p.b_scale_inverse,
                      .d = static_cast<char*>(p.d),
                      .offsets = p.offsets,
                      .a_step = p.k * each,
                      .b_step = 0,
                      .d_step = p.n * size_of(p.d_type),
                      .b_group = p.n * p.k * each,
                      .d_group = 0,
                      .a_scale_step = by_rows ? 1 : 0,
                      .a_scale_group = 0,
                      .b_scale_group = by_rows ? p.n : 0,
                      .count = p.groups,
                      .m = 0,
                      .n = size(p.n),
                      .k = size(p.k),
                      .stride_a = size(p.k),
                      .stride_b = size(p.b_transposed != 0 ? p.n : p.k)};
  using Bf16 = ck_tile::bfloat16_t;
  auto* on = static_cast<hipStream_t>(stream);
  if (p.a_type != OCTET_CK_BF16) {
    launch_fp8<Bf16, false>(p.a_type, p.b_type, groups, by_rows, workspace, on);
  } else if (p.b_transposed != 0) {
    launch<PlainKernel<Bf16, RowMajor, RowMajor, false>>(groups, workspace, on);
  } else {
    launch<PlainKernel<Bf16, RowMajor, ColumnMajor, false>>(groups, workspace, on);
  }
}

/// D's rows are n and its columns k: what ck_tile calls M, N and K are n, k and a group's columns.
void multiply_columns(const octet_ck_columns_grouped& p, void* workspace, void* stream) {
  const std::int64_t each = size_of(p.a_type);
  const bool by_rows = p.scale == OCTET_CK_SCALE_ROW;
  const bool transposed = p.transposed != 0;
  refuse_odd(p.n, 8, "n");
  refuse_odd(p.k, 8, "k");
  if (!transposed) refuse_odd(p.columns, 16 / each, "the count of columns");
  const Groups groups{.a = static_cast<const char*>(p.a),
                      .b = static_cast<const char*>(p.b),
                      .a_scales = p.a_scale_inverse,
                      .b_scales = p.b_scale_inverse,
                      .d = static_cast<char*>(p.d),
                      .offsets = p.offsets,
                      .a_step = (transposed ? p.n : 1) * each,
                      .b_step = (transposed ? p.k : 1) * each,
                      .d_step = 0,
                      .b_group = 0,
                      .d_group = p.n * p.k * size_of(p.d_type),
                      .a_scale_step = 0,
                      .a_scale_group = by_rows ? p.n : 0,
                      .b_scale_group = by_rows ? p.k : 0,
                      .count = p.groups,
                      .m = size(p.n),
                      .n = size(p.k),
                      .k = 0,
                      .stride_a = size(transposed ? p.n : p.columns),
                      .stride_b = size(transposed ? p.k : p.columns)};
  auto* on = static_cast<hipStream_t>(stream);
  if (p.d_type == OCTET_CK_F32) {
    multiply_columns_to<float>(p, groups, workspace, on);
  } else {
    multiply_columns_to<ck_tile::bfloat16_t>(p, groups, workspace, on);
  }
}

}  // namespace octet_ck
