// AMD's GPUs as backends.
#include <fmt/format.h>

#include "core/error.h"
#include "gpu/hip/hip_driver.h"
#include "gpu/hip/mfma_products.h"
#include "ops/gpu/gpu_backend.h"
#include "ops/gpu/gpu_device.h"
#include "ops/gpu/gpu_table.h"

namespace octet::ops {

GpuSurvey survey_hip_devices() {
  const octet::gpu::HipSurvey found = octet::gpu::survey_hip();
  GpuSurvey survey;
  survey.problem = found.problem;
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    survey.gpus.push_back(describe_gpu(fmt::format("hip:{}", i), found.gpus[i]));
  }
  if (!found.runtime.version.empty()) survey.libraries.push_back(found.runtime);  // else it is the problem
  return survey;
}

std::unique_ptr<Backend> make_hip_backend(int device, const GpuOptions& options) {
  if (options.attention == GpuAttention::vendor) throw UserError("attention on AMD's GPUs runs on own kernels only");
  auto driver = octet::gpu::open_hip(device);
  auto products = octet::gpu::open_mfma_products(*driver);
  const fp8::FormatFamily family = fp8::family_of_arch(driver->facts().arch);
  return std::make_unique<Backend>(
      "hip",
      std::make_unique<gpu::GpuDevice>(std::move(driver), std::move(products), nullptr, family,
                                       octet::gpu::FoundAttention{nullptr, "the only ones for AMD's GPUs"}, nullptr),
      gpu::gpu_table(family));
}

}  // namespace octet::ops
