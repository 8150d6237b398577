// The GPU's op table.
#include "ops/gpu/gpu_backend.h"

#include "gpu/cuda/cublaslt.h"
#include "gpu/cuda/cuda_driver.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops {
namespace gpu {
namespace {

OpTable make_table() {
  OpTable table;
  std::get<Entry<RmsNormForward>>(table) = {&rmsnorm_forward, &rmsnorm_forward_workspace};
  std::get<Entry<RmsNormBackward>>(table) = {&rmsnorm_backward, &rmsnorm_backward_workspace};
  std::get<Entry<SwigluForward>>(table) = {&swiglu_forward, &swiglu_forward_workspace};
  std::get<Entry<SwigluBackward>>(table) = {&swiglu_backward, &swiglu_backward_workspace};
  std::get<Entry<QuantizeRows>>(table) = {&quantize_rows, &quantize_rows_workspace};
  std::get<Entry<Maxima>>(table) = {&maxima, &maxima_workspace};
  std::get<Entry<Cast>>(table) = {&cast, &cast_workspace};
  std::get<Entry<Gemm>>(table) = {&gemm, &gemm_workspace};
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
