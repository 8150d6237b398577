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
  std::get<Entry<EmbeddingForward>>(table) = {&embedding_forward, nullptr};
  std::get<Entry<EmbeddingBackward>>(table) = {&embedding_backward, nullptr};
  std::get<Entry<RmsNormForward>>(table) = {&rmsnorm_forward, &rmsnorm_forward_workspace, &refuse_rows<RmsNormForward>};
  std::get<Entry<RmsNormBackward>>(table) = {&rmsnorm_backward, &rmsnorm_backward_workspace,
                                             &refuse_rows<RmsNormBackward>};
  std::get<Entry<Rope>>(table) = {&rope, nullptr};
  std::get<Entry<AppendToCache>>(table) = {&append_to_cache, nullptr};
  std::get<Entry<AttentionDecode>>(table) = {&attention_decode, &attention_decode_workspace};
  std::get<Entry<SwigluForward>>(table) = {&swiglu_forward, &swiglu_forward_workspace, &refuse_rows<SwigluForward>};
  std::get<Entry<SwigluBackward>>(table) = {&swiglu_backward, &swiglu_backward_workspace, &refuse_rows<SwigluBackward>};
  std::get<Entry<QuantizeRows>>(table) = {&quantize_rows, &quantize_rows_workspace, &refuse_rows<QuantizeRows>};
  std::get<Entry<Maxima>>(table) = {&maxima, &maxima_workspace};
  std::get<Entry<Cast>>(table) = {&cast, &cast_workspace, &refuse_cast};
  std::get<Entry<CastStatistics>>(table) = {&cast_statistics, nullptr};
  std::get<Entry<Gemm>>(table) = {&gemm, &gemm_workspace, &refuse_gemm};
  std::get<Entry<CrossEntropy>>(table) = {&cross_entropy, nullptr};
  std::get<Entry<SumFloats>>(table) = {&sum_floats, &sum_floats_workspace};
  std::get<Entry<Zero>>(table) = {&zero, nullptr};
  std::get<Entry<SumOfSquares>>(table) = {&sum_of_squares, &sum_of_squares_workspace};
  std::get<Entry<AdamW>>(table) = {&adamw, &adamw_workspace};
  std::get<Entry<FindNonFinite>>(table) = {&find_non_finite, &find_non_finite_workspace};
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
