// The GPU's op table.
#include "ops/gpu/gpu_backend.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "gpu/cuda/cublaslt.h"
#include "gpu/cuda/cuda_driver.h"
#include "gpu/cuda/nvtx_ranges.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops {
namespace gpu {
namespace {

template <typename Op>
const char* refuse_rows(const Op& op) {
  return refuse_row_codes(op.codes, op.dim);
}
template <typename Op>
const char* refuse_rows_of_any_length(const Op& op) {
  return refuse_row_codes(op.codes);
}

template <typename Op>
const char* refuse_columns(const Op& op) {
  return refuse_column_codes(op.transposed);
}

OpTable make_table() {
  OpTable table;
  std::get<Entry<EmbeddingForward>>(table) = {&embedding_forward, nullptr};
  std::get<Entry<EmbeddingBackward>>(table) = {&embedding_backward, nullptr};
  std::get<Entry<RmsNormForward>>(table) = {&rmsnorm_forward, &rmsnorm_forward_workspace, &refuse_rows<RmsNormForward>};
  std::get<Entry<RmsNormForwardCast>>(table) = {&rmsnorm_forward_cast, nullptr, &refuse_columns<RmsNormForwardCast>};
  std::get<Entry<RmsNormBackward>>(table) = {&rmsnorm_backward, &rmsnorm_backward_workspace,
                                             &refuse_rows<RmsNormBackward>};
  std::get<Entry<AttentionForward>>(table) = {&attention_forward, &attention_forward_workspace};
  std::get<Entry<AttentionBackward>>(table) = {&attention_backward, &attention_backward_workspace};
  std::get<Entry<Rope>>(table) = {&rope, &rope_workspace, &refuse_rows_of_any_length<Rope>};
  std::get<Entry<AppendToCache>>(table) = {&append_to_cache, nullptr};
  std::get<Entry<AttentionDecode>>(table) = {&attention_decode, &attention_decode_workspace};
  std::get<Entry<SwigluForward>>(table) = {&swiglu_forward, &swiglu_forward_workspace, &refuse_rows<SwigluForward>};
  std::get<Entry<SwigluBackward>>(table) = {&swiglu_backward, &swiglu_backward_workspace, &refuse_rows<SwigluBackward>};
  std::get<Entry<SwigluBackwardCast>>(table) = {&swiglu_backward_cast, nullptr, &refuse_columns<SwigluBackwardCast>};
  std::get<Entry<QuantizeRows>>(table) = {&quantize_rows, &quantize_rows_workspace,
                                          &refuse_rows_of_any_length<QuantizeRows>};
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
  std::get<Entry<Copy>>(table) = {&copy, nullptr};
  std::get<Entry<Difference>>(table) = {&difference, &difference_workspace};
  return table;
}

/// The option, or what the environment says where that leaves the choice open.
GpuAttention attention_choice(const GpuOptions& options) {
  if (options.attention != GpuAttention::automatic) return options.attention;
  const char* value = std::getenv("OCTET_ATTENTION");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const std::string_view wanted = value == nullptr ? "" : value;
  if (wanted.empty()) return GpuAttention::automatic;
  if (wanted == "own") return GpuAttention::own;
  if (wanted == "cudnn") return GpuAttention::vendor;
  throw UserError("OCTET_ATTENTION is '{}': it may be own or cudnn, or unset for what the machine has", wanted);
}

octet::gpu::FoundAttention choose_attention(const octet::gpu::Driver& driver, const GpuOptions& options) {
  const GpuAttention choice = attention_choice(options);
  if (choice == GpuAttention::own) return {nullptr, "as asked for"};
  octet::gpu::FoundAttention found = octet::gpu::find_cudnn_attention(driver, options.deterministic);
  if (choice == GpuAttention::vendor && found.library == nullptr) {
    throw UserError("cuDNN was asked for attention: {}", found.problem);
  }
  return found;
}

}  // namespace
}  // namespace gpu

GpuSurvey survey_cuda_devices() {
  const octet::gpu::CudaSurvey found = octet::gpu::survey_cuda();
  GpuSurvey survey;
  survey.problem = found.problem;
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    const auto& [facts, refusal] = found.gpus[i];
    survey.gpus.push_back(
        {fmt::format("cuda:{}", i),
         fmt::format("{} ({}, {} multiprocessors, {:.1f} GiB), {}", facts.name, facts.arch, facts.multiprocessors,
                     static_cast<double>(facts.memory_bytes) / (1U << 30U), facts.runtime),
         refusal});
  }
  if (!found.driver.version.empty()) survey.libraries.push_back(found.driver);  // else it is the problem
  survey.libraries.push_back(octet::gpu::survey_cublaslt());
  survey.libraries.push_back(octet::gpu::survey_cudnn());
  return survey;
}

std::unique_ptr<Backend> make_cuda_backend(int device, const GpuOptions& options) {
  auto driver = octet::gpu::open_cuda(device);
  auto products = octet::gpu::open_cublaslt(*driver);
  octet::gpu::FoundAttention attention = gpu::choose_attention(*driver, options);
  return std::make_unique<Backend>(
      "cuda",
      std::make_unique<gpu::GpuDevice>(std::move(driver), std::move(products), fp8::FormatFamily::ocp,
                                       std::move(attention), octet::gpu::find_nvtx_ranges()),
      gpu::make_table());
}

}  // namespace octet::ops
