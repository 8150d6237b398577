// The machine code of src/kernels, embedded when the program was built.
#pragma once

#include <span>
#include <string_view>

namespace octet::gpu {

/// What the images were compiled for: sm_90a runs on this and on nothing else.
inline constexpr std::string_view kSupportedArch = "sm_90";
inline constexpr std::string_view kSupportedGpus = "GPUs of compute capability 9.0 (sm_90: H100, H200, GH200)";

struct KernelImage {
  std::string_view name;  ///< of the source file
  const void* data;
};

[[nodiscard]] std::span<const KernelImage> kernel_images();

}  // namespace octet::gpu
