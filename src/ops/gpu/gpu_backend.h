// The GPU backends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fp8/format_family.h"
#include "gpu/surveyed_gpu.h"
#include "gpu/vendor_library.h"
#include "ops/backend.h"

namespace octet::ops {

/// Who computes attention on a GPU.
enum class GpuAttention {
  automatic,  ///< the vendor's library where it is found, for the shapes that it has; own kernels elsewhere
  vendor,     ///< the same, and a missing library is an error
  own,
};

struct GpuOptions {
  GpuAttention attention = GpuAttention::automatic;
  bool deterministic = false;  ///< the same bits on each run, also where the vendor's fastest kernels differ
};

/// One NVIDIA GPU. UserError where none can be used; the message says why and what to do. OCTET_ATTENTION=own|cudnn in
/// the environment overrides an automatic choice.
[[nodiscard]] std::unique_ptr<Backend> make_cuda_backend(int device, const GpuOptions& options = {});

/// One AMD GPU; its formats are those of its architecture. UserError as above. OCTET_PRODUCTS=own|hipblaslt in the
/// environment decides who computes matrix products, which is own kernels but for those of a measured table.
[[nodiscard]] std::unique_ptr<Backend> make_hip_backend(int device, const GpuOptions& options = {});

/// Whether the vendor's library computes the op on a GPU's backend; own kernels do where it has none for the shape.
[[nodiscard]] bool library_computes(const Backend& backend, const AttentionForward& op);
[[nodiscard]] bool library_computes(const Backend& backend, const AttentionBackward& op);

/// A GPU that was found.
struct FoundGpu {
  std::string name;          ///< as runtime.device has it: "cuda:0", "hip:0"
  std::string description;   ///< one line
  std::string arch;          ///< "sm_90", "gfx942"
  fp8::FormatFamily family;  ///< of the FP8 formats that it multiplies
  int warp_size;             ///< lanes
  std::size_t shared_bytes;  ///< of shared memory (LDS), the most that a block may have
  std::string refusal;       ///< why it cannot be used; empty where it can
};
[[nodiscard]] FoundGpu describe_gpu(std::string name, const octet::gpu::SurveyedGpu& gpu);

/// What a look for a vendor's GPUs, their driver and the libraries of the backend finds.
struct GpuSurvey {
  std::vector<FoundGpu> gpus;
  std::string problem;  ///< why there is no GPU, with the remedy
  std::vector<octet::gpu::VendorLibrary>
      libraries;  ///< what is there and what is missing, where the backend is built in
};
[[nodiscard]] GpuSurvey survey_cuda_devices();
[[nodiscard]] GpuSurvey survey_hip_devices();

}  // namespace octet::ops
