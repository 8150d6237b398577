// The CUDA driver, found when the program runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/driver.h"
#include "gpu/surveyed_gpu.h"
#include "gpu/vendor_library.h"

namespace octet::gpu {

/// What a look for CUDA found, for `octet info`.
struct CudaSurvey {
  VendorLibrary driver;           ///< without a version where there is none of use
  std::vector<SurveyedGpu> gpus;  ///< cuda:0 first
  std::string problem;            ///< why there is no GPU, one line with the remedy
};

/// Throws nothing: whatever fails is a problem.
[[nodiscard]] CudaSurvey survey_cuda();

/// Device `index`, with a context of its own. UserError where there is no driver, no such device, or no kernel image
/// for it; the message names what is supported.
[[nodiscard]] std::unique_ptr<Driver> open_cuda(int index);

}  // namespace octet::gpu
