// AMD's HIP runtime as a driver, found when the program runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/driver.h"
#include "gpu/surveyed_gpu.h"
#include "gpu/vendor_library.h"

namespace octet::gpu {

/// What a look for HIP found, for `octet info`.
struct HipSurvey {
  VendorLibrary runtime;          ///< without a version where there is none of use
  std::vector<SurveyedGpu> gpus;  ///< hip:0 first
  std::string problem;            ///< why there is no GPU, one line with the remedy
};

/// Throws nothing: whatever fails is a problem.
[[nodiscard]] HipSurvey survey_hip();

/// Device `index`, with a stream of its own. UserError where there is no runtime, no such device, or no code object for
/// it; the message names what is supported.
[[nodiscard]] std::unique_ptr<Driver> open_hip(int index);

}  // namespace octet::gpu
