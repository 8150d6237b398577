// A GPU as octet info shows it.
#pragma once

#include <string>

#include "gpu/driver.h"

namespace octet::gpu {

struct SurveyedGpu {
  DeviceFacts facts;
  std::string refusal;  ///< why it cannot be used; empty where it can
};

}  // namespace octet::gpu
