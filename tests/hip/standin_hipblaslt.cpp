// A stand-in for AMD's hipBLASLt, whose products do nothing but leave a record. The environment decides what goes
// wrong:
//
//   OCTET_STANDIN_HIPBLASLT=1200     the version that it says it is of (default 100000, which is 1.0.0)
//   OCTET_STANDIN_PROPOSALS=2        ways that it proposes for each product (default 1)
//   OCTET_STANDIN_FAIL_CREATE=1      it does not start
//   OCTET_STANDIN_FAIL_PRODUCT=1     products fail
#include "hip/standin_hipblaslt.h"

#include <algorithm>
#include <cstring>

#include "gpu/hip/hip_types.h"
#include "gpu/hip/hipblaslt_types.h"
#include "gpu/standin_environment.h"

namespace {

using namespace octet::gpu::hipblaslt;
using octet::test::MatmulRecord;
using octet::test::MatrixRecord;
using octet::test::setting;

int alive = 0;
int products = 0;
MatmulRecord last;

struct PreferenceObject {
  std::uint64_t workspace = 0;
};

template <typename T>
T read(const void* value, std::size_t bytes) {
  T x{};
  if (bytes == sizeof x) std::memcpy(&x, value, bytes);
  return x;
}

template <typename Object, typename Handle, typename... Arguments>
Status make(Handle* handle, Arguments... arguments) {
  *handle = reinterpret_cast<Handle>(new Object{arguments...});
  ++alive;
  return Status::success;
}
template <typename Object, typename Handle>
Status destroy(Handle handle) {
  delete reinterpret_cast<Object*>(handle);
  --alive;
  return Status::success;
}

}  // namespace

extern "C" {

const MatmulRecord* standin_last_matmul() {
  return products == 0 ? nullptr : &last;
}
int standin_products() {
  return products;
}
int standin_alive() {
  return alive;
}

Status hipblasLtGetVersion(Handle handle, int* version) {
  if (handle == nullptr) return Status::not_initialized;
  *version = static_cast<int>(setting("OCTET_STANDIN_HIPBLASLT", 100000));
  return Status::success;
}
Status hipblasLtCreate(Handle* handle) {
  if (setting("OCTET_STANDIN_FAIL_CREATE", 0) != 0) return Status::internal_error;
  return make<int>(handle);
}
Status hipblasLtDestroy(Handle handle) {
  return destroy<int>(handle);
}
Status hipblasLtMatmulDescCreate(Desc* desc, ComputeType compute, DataType scale) {
  make<MatmulRecord>(desc);
  auto& record = *reinterpret_cast<MatmulRecord*>(*desc);
  record.compute_type = static_cast<int>(compute);
  record.scale_type = static_cast<int>(scale);
  return Status::success;
}
Status hipblasLtMatmulDescDestroy(Desc desc) {
  return destroy<MatmulRecord>(desc);
}
Status hipblasLtMatmulDescSetAttribute(Desc desc, DescAttribute attribute, const void* value, std::size_t bytes) {
  auto& record = *reinterpret_cast<MatmulRecord*>(desc);
  switch (static_cast<int>(attribute)) {
    case 0:
      record.transpose_a = read<std::int32_t>(value, bytes);
      return Status::success;
    case 1:
      record.transpose_b = read<std::int32_t>(value, bytes);
      return Status::success;
    case 5:
      record.a_scale = read<const void*>(value, bytes);
      return Status::success;
    case 6:
      record.b_scale = read<const void*>(value, bytes);
      return Status::success;
    case 31:
      record.a_scale_mode = read<std::int32_t>(value, bytes);
      return Status::success;
    case 32:
      record.b_scale_mode = read<std::int32_t>(value, bytes);
      return Status::success;
    default:
      return Status::invalid_value;
  }
}
Status hipblasLtMatrixLayoutCreate(Layout* layout, DataType type, std::uint64_t rows, std::uint64_t cols,
                                   std::int64_t leading) {
  return make<MatrixRecord>(layout, static_cast<int>(type), rows, cols, leading, static_cast<const void*>(nullptr));
}
Status hipblasLtMatrixLayoutDestroy(Layout layout) {
  return destroy<MatrixRecord>(layout);
}
Status hipblasLtMatmulPreferenceCreate(Preference* preference) {
  return make<PreferenceObject>(preference);
}
Status hipblasLtMatmulPreferenceDestroy(Preference preference) {
  return destroy<PreferenceObject>(preference);
}
Status hipblasLtMatmulPreferenceSetAttribute(Preference preference, PreferenceAttribute attribute, const void* value,
                                             std::size_t bytes) {
  if (static_cast<int>(attribute) != 1) return Status::invalid_value;
  reinterpret_cast<PreferenceObject*>(preference)->workspace = read<std::uint64_t>(value, bytes);
  return Status::success;
}
Status hipblasLtMatmulAlgoGetHeuristic(Handle, Desc desc, Layout, Layout, Layout, Layout, Preference preference,
                                       int most, HeuristicResult* results, int* found) {
  auto& record = *reinterpret_cast<MatmulRecord*>(desc);
  record.workspace_preferred = reinterpret_cast<PreferenceObject*>(preference)->workspace;
  *found = std::min(most, static_cast<int>(setting("OCTET_STANDIN_PROPOSALS", 1)));
  for (int i = 0; i < *found; ++i) {
    results[i] = {};
    results[i].algorithm.data[0] = static_cast<std::uint8_t>(i);
  }
  return Status::success;
}
Status hipblasLtMatmul(Handle, Desc desc, const void* alpha, const void* a, Layout layout_a, const void* b,
                       Layout layout_b, const void* beta, const void* c, Layout layout_c, void* d, Layout layout_d,
                       const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                       octet::gpu::hip::Stream stream) {
  if (setting("OCTET_STANDIN_FAIL_PRODUCT", 0) != 0) return Status::execution_failed;
  const auto matrix = [](Layout layout, const void* data) {
    MatrixRecord record = *reinterpret_cast<MatrixRecord*>(layout);
    record.data = data;
    return record;
  };
  last = *reinterpret_cast<MatmulRecord*>(desc);
  last.a = matrix(layout_a, a);
  last.b = matrix(layout_b, b);
  last.c = matrix(layout_c, c);
  last.d = matrix(layout_d, d);
  last.alpha = *static_cast<const float*>(alpha);
  last.beta = *static_cast<const float*>(beta);
  last.algorithm = algorithm->data[0];
  last.workspace = workspace;
  last.workspace_given = workspace_bytes;
  last.stream = stream;
  ++products;
  return Status::success;
}

}  // extern "C"
