// A stand-in for NVIDIA's cuBLASLt, whose products do nothing; those in FP8 take multiples of 16 alone. The environment
// decides what goes wrong:
//
//   OCTET_STANDIN_CUBLASLT=120400    the version that it says it is of (default 130100)
//   OCTET_STANDIN_FAIL_PRODUCT=5     the fifth product fails
//   OCTET_STANDIN_PROPOSALS=2        ways that it proposes for each product (default 1)
#include <cublasLt.h>

#include "gpu/standin_environment.h"

namespace {

using octet::test::setting;

/// What a handle points to where nobody looks.
template <typename Handle>
Handle some() {
  static char thing;
  return reinterpret_cast<Handle>(&thing);
}

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() {
  return static_cast<std::size_t>(setting("OCTET_STANDIN_CUBLASLT", 130100));
}
const char* cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED" : "another status";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = some<cublasLtHandle_t>();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t, cudaDataType_t) {
  *desc = some<cublasLtMatmulDesc_t>();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void*,
                                              std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t cols, std::int64_t) {
  const bool fp8 = type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
  if (fp8 && (rows % 16 != 0 || cols % 16 != 0)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *layout = some<cublasLtMatrixLayout_t>();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = some<cublasLtMatmulPreference_t>();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t*,
                                              int* found) {
  *found = static_cast<int>(setting("OCTET_STANDIN_PROPOSALS", 1));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*, cublasLtMatrixLayout_t,
                              const void*, cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t,
                              void*, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, std::size_t,
                              cudaStream_t) {
  static long products = 0;
  return ++products == setting("OCTET_STANDIN_FAIL_PRODUCT", 0) ? CUBLAS_STATUS_EXECUTION_FAILED
                                                                : CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
