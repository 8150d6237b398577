// The GPU's op table.
#include "ops/gpu/gpu_backend.h"

#include <cstdlib>
#include <string_view>

#include "core/error.h"
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
  std::get<Entry<AttentionForward>>(table) = {&attention_forward, &attention_forward_workspace};
  std::get<Entry<AttentionBackward>>(table) = {&attention_backward, &attention_backward_workspace};
  std::get<Entry<SwigluForward>>(table) = {&swiglu_forward, &swiglu_forward_workspace};
  std::get<Entry<SwigluBackward>>(table) = {&swiglu_backward, &swiglu_backward_workspace};
  std::get<Entry<QuantizeRows>>(table) = {&quantize_rows, &quantize_rows_workspace};
  std::get<Entry<Maxima>>(table) = {&maxima, &maxima_workspace};
  std::get<Entry<Cast>>(table) = {&cast, &cast_workspace};
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

std::unique_ptr<Backend> make_cuda_backend(int device, const GpuOptions& options) {
  auto driver = octet::gpu::open_cuda(device);
  octet::gpu::FoundAttention attention = gpu::choose_attention(*driver, options);
  return std::make_unique<Backend>(
      "cuda", std::make_unique<gpu::GpuDevice>(std::move(driver), fp8::FormatFamily::ocp, std::move(attention)),
      gpu::make_table());
}

}  // namespace octet::ops
