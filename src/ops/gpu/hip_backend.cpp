// AMD's GPUs as backends.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "gpu/hip/ck_plugin.h"
#include "gpu/hip/hip_driver.h"
#include "gpu/hip/hip_products.h"
#include "gpu/hip/hipblaslt.h"
#include "gpu/hip/mfma_grouped_products.h"
#include "ops/gpu/gpu_backend.h"
#include "ops/gpu/gpu_device.h"
#include "ops/gpu/gpu_table.h"

namespace octet::ops {
namespace {

octet::gpu::HipProductsChoice products_choice() {
  using octet::gpu::HipProductsChoice;
  const char* value = std::getenv("OCTET_PRODUCTS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const std::string_view wanted = value == nullptr ? "" : value;
  if (wanted.empty()) return HipProductsChoice::automatic;
  if (wanted == "own") return HipProductsChoice::own;
  if (wanted == "hipblaslt") return HipProductsChoice::hipblaslt;
  throw UserError("OCTET_PRODUCTS is '{}': it may be own or hipblaslt, or unset for what was measured to be faster",
                  wanted);
}

std::unique_ptr<octet::gpu::GroupedProducts> open_grouped_products(octet::gpu::Driver& driver) {
  const char* value = std::getenv("OCTET_GROUPED_PRODUCTS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const std::string_view wanted = value == nullptr ? "" : value;
  if (wanted.empty() || wanted == "own") return octet::gpu::open_mfma_grouped_products(driver);
  if (wanted == "ck") return octet::gpu::open_ck_plugin(driver);
  throw UserError("OCTET_GROUPED_PRODUCTS is '{}': it may be ck, or own, as it is when unset", wanted);
}

}  // namespace

GpuSurvey survey_hip_devices() {
  const octet::gpu::HipSurvey found = octet::gpu::survey_hip();
  GpuSurvey survey;
  survey.problem = found.problem;
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    survey.gpus.push_back(describe_gpu(fmt::format("hip:{}", i), found.gpus[i]));
  }
  if (!found.runtime.version.empty()) survey.libraries.push_back(found.runtime);  // else it is the problem
  const auto can_be_used = [](const FoundGpu& gpu) { return gpu.refusal.empty(); };
  if (std::ranges::any_of(survey.gpus, can_be_used)) {
    survey.libraries.push_back(octet::gpu::survey_hipblaslt());
    survey.libraries.push_back(octet::gpu::survey_ck_plugin());
  }
  return survey;
}

std::unique_ptr<Backend> make_hip_backend(int device, const GpuOptions& options) {
  if (options.attention == GpuAttention::vendor) throw UserError("attention on AMD's GPUs runs on own kernels only");
  auto driver = octet::gpu::open_hip(device);
  auto products = octet::gpu::open_hip_products(*driver, products_choice());
  auto grouped_products = open_grouped_products(*driver);
  const fp8::FormatFamily family = fp8::family_of_arch(driver->facts().arch);
  return std::make_unique<Backend>(
      "hip",
      std::make_unique<gpu::GpuDevice>(std::move(driver), std::move(products), std::move(grouped_products), family,
                                       octet::gpu::FoundAttention{nullptr, "the only ones for AMD's GPUs"}, nullptr),
      gpu::gpu_table(family));
}

}  // namespace octet::ops
