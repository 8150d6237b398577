// The CUDA driver, found when the program runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/driver.h"

namespace octet::gpu {

/// What a look for CUDA found, for `octet info`: devices, or why there is none.
struct CudaSurvey {
  std::vector<DeviceFacts> devices;
  std::string problem;  ///< one line with the remedy where `devices` is empty
};

[[nodiscard]] CudaSurvey survey_cuda();

/// Device `index`, with a context of its own. UserError where there is no driver, no such device, or no kernel image
/// for it; the message names what is supported.
[[nodiscard]] std::unique_ptr<Driver> open_cuda(int index);

}  // namespace octet::gpu
