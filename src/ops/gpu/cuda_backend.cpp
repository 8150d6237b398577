// NVIDIA's GPUs as backends.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "gpu/cuda/cublaslt.h"
#include "gpu/cuda/cuda_driver.h"
#include "gpu/cuda/nvtx_ranges.h"
#include "gpu/cuda/wgmma_products.h"
#include "ops/gpu/gpu_backend.h"
#include "ops/gpu/gpu_device.h"
#include "ops/gpu/gpu_table.h"

namespace octet::ops {
namespace {

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

GpuSurvey survey_cuda_devices() {
  const octet::gpu::CudaSurvey found = octet::gpu::survey_cuda();
  GpuSurvey survey;
  survey.problem = found.problem;
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    survey.gpus.push_back(describe_gpu(fmt::format("cuda:{}", i), found.gpus[i]));
  }
  if (!found.driver.version.empty()) survey.libraries.push_back(found.driver);  // else it is the problem
  survey.libraries.push_back(octet::gpu::survey_cublaslt());
  survey.libraries.push_back(octet::gpu::survey_cudnn());
  return survey;
}

std::unique_ptr<Backend> make_cuda_backend(int device, const GpuOptions& options) {
  auto driver = octet::gpu::open_cuda(device);
  auto products = octet::gpu::open_cublaslt(*driver);
  auto grouped_products = octet::gpu::open_wgmma_products(*driver);
  octet::gpu::FoundAttention attention = choose_attention(*driver, options);
  return std::make_unique<Backend>(
      "cuda",
      std::make_unique<gpu::GpuDevice>(std::move(driver), std::move(products), std::move(grouped_products),
                                       fp8::FormatFamily::ocp, std::move(attention), octet::gpu::find_nvtx_ranges()),
      gpu::gpu_table(fp8::FormatFamily::ocp));
}

}  // namespace octet::ops
