// The GPU's op table.
#include "ops/gpu/gpu_backend.h"

#include "gpu/cuda/cublaslt.h"
#include "gpu/cuda/cuda_driver.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops {
namespace gpu {
namespace {

template <typename Op>
const char* refuse_rows(const Op& op) {
  if constexpr (requires { op.dim; }) {
    return refuse_row_codes(op.codes, op.dim);
  } else {
    return refuse_row_codes(op.codes, op.cols);
  }
}

OpTable make_table() {
  OpTable table;
  std::get<Entry<RmsNormForward>>(table) = {&rmsnorm_forward, &rmsnorm_forward_workspace, &refuse_rows<RmsNormForward>};
  std::get<Entry<RmsNormBackward>>(table) = {&rmsnorm_backward, &rmsnorm_backward_workspace,
                                             &refuse_rows<RmsNormBackward>};
  std::get<Entry<SwigluForward>>(table) = {&swiglu_forward, &swiglu_forward_workspace, &refuse_rows<SwigluForward>};
  std::get<Entry<SwigluBackward>>(table) = {&swiglu_backward, &swiglu_backward_workspace, &refuse_rows<SwigluBackward>};
  std::get<Entry<QuantizeRows>>(table) = {&quantize_rows, &quantize_rows_workspace, &refuse_rows<QuantizeRows>};
  std::get<Entry<Maxima>>(table) = {&maxima, &maxima_workspace};
  std::get<Entry<Cast>>(table) = {&cast, &cast_workspace, &refuse_cast};
  std::get<Entry<Gemm>>(table) = {&gemm, &gemm_workspace, &refuse_gemm};
  return table;
}

}  // namespace
}  // namespace gpu

std::unique_ptr<Backend> make_cuda_backend(int device) {
  auto driver = octet::gpu::open_cuda(device);
  auto products = octet::gpu::open_cublaslt(*driver);
  return std::make_unique<Backend>(
      "cuda", std::make_unique<gpu::GpuDevice>(std::move(driver), std::move(products), fp8::FormatFamily::ocp),
      gpu::make_table());
}

}  // namespace octet::ops
