// configs/llama3_debug.toml trained on the token stream that the PyTorch script of this folder trains on.
#pragma once

#include <string>
#include <vector>

#include "train/engine.h"

namespace octet::test {

struct DebugRun {
  std::vector<StepOutcome> steps;    ///< what each step came to, before its update
  std::uint64_t fp8_codes_used = 0;  ///< by all steps
};

/// All steps of the configuration with `overrides` ("precision.recipe=bf16") from its seed's initial weights.
[[nodiscard]] DebugRun run_llama3_debug(const std::vector<std::string>& overrides);

/// The largest |loss - expected| / expected of all steps.
[[nodiscard]] double largest_relative_difference(const std::vector<StepOutcome>& steps,
                                                 const std::vector<double>& expected_losses);

}  // namespace octet::test
