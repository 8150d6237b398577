// The machine code of src/kernels, embedded when the program was built.
#pragma once

#include <span>
#include <string_view>

namespace octet::gpu {

/// What the images were compiled for.
inline constexpr std::string_view kKernelArch = "sm_90a (Hopper: H100, H200)";

struct KernelImage {
  std::string_view name;  ///< of the source file
  const void* data;
};

[[nodiscard]] std::span<const KernelImage> kernel_images();

}  // namespace octet::gpu
