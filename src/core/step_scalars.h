// What an optimizer step reads from device memory, the same for ops and kernels.
#pragma once

#include <cstdint>

namespace octet {

/// In device memory so that a captured graph can read it.
struct StepScalars {
  float learning_rate;
  float clip_factor;           // multiplies every gradient
  float bias_correction1;      // 1 - beta1^step
  float bias_correction2;      // 1 - beta2^step
  std::uint64_t rounding_key;  // of this step's random numbers
};

}  // namespace octet
