// The GPU backends.
#pragma once

#include <memory>
#include <string>
#include <vector>

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

/// What a look for NVIDIA's GPUs finds, one line a device; or why there is none, with the remedy.
struct GpuSurvey {
  std::vector<std::string> devices;
  std::string problem;
};
[[nodiscard]] GpuSurvey survey_cuda_devices();

}  // namespace octet::ops
