// What Octet uses of hipBLASLt's C interface, declared by ourselves: nothing of ROCm is needed to build. Names, numbers
// and layouts were read in the public headers hipblaslt.h (ROCm/hipBLASLt of 1.0.0, ROCm 7.0, and ROCm/rocm-libraries
// of 1.x, ROCm 7.2), hipblas-common.h (ROCm/hipBLAS-common) and hip/library_types.h (ROCm/HIP). They agree with 0.x of
// ROCm 6 but for what is marked.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::gpu::hipblaslt {

/// hipblasStatus_t
enum class Status : int {
  success = 0,
  not_initialized = 1,
  alloc_failed = 2,
  invalid_value = 3,
  mapping_error = 4,
  execution_failed = 5,
  internal_error = 6,
  not_supported = 7,
  arch_mismatch = 8,
};

/// hipDataType
enum class DataType : int {
  f32 = 0,
  bf16 = 14,
  e4m3 = 28,  ///< OCP's two: of ROCm 6.3 on
  e5m2 = 29,
  e4m3_fnuz = 1000,
  e5m2_fnuz = 1001,
};

/// hipblasOperation_t
enum class Operation : std::int32_t { none = 111, transpose = 112 };

/// hipblasComputeType_t
enum class ComputeType : int { f32 = 2 };

/// hipblasLtMatmulDescAttributes_t
enum class DescAttribute : int {
  transpose_a = 0,
  transpose_b = 1,
  a_scale_pointer = 5,
  b_scale_pointer = 6,
  a_scale_mode = 31,  ///< both modes: of 1.0 on; before, an operand has one scale
  b_scale_mode = 32,
};

/// hipblasLtMatmulMatrixScale_t
enum class ScaleMode : std::int32_t { scalar_f32 = 0, outer_vector_f32 = 3 };

/// hipblasLtMatmulPreferenceAttributes_t
enum class PreferenceAttribute : int { max_workspace_bytes = 1 };

using Handle = void*;
using Desc = struct MatmulDesc*;
using Layout = struct MatrixLayout*;
using Preference = struct MatmulPreference*;

/// hipblasLtMatmulAlgo_t
struct Algorithm {
  std::uint8_t data[16];
  std::size_t max_workspace_bytes;
};

/// hipblasLtMatmulHeuristicResult_t
struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  Status state;
  float waves_count;
  int reserved[4];
};
static_assert(sizeof(Algorithm) == 24 && sizeof(HeuristicResult) == 56);

}  // namespace octet::gpu::hipblaslt
