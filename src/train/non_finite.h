// When a step's loss or gradient is NaN or inf: which tensor showed it first.
#pragma once

#include <string>

#include "train/engine.h"

namespace octet {

/// Runs the step in `engine` again with every named tensor examined in the order of computation. Returns for instance
/// "layers.3.attention.wqkv.output [row 17, column 5]"; weights are examined before anything is computed. Leaves a step
/// open that is to be discarded.
[[nodiscard]] std::string find_first_non_finite(Engine& engine);

}  // namespace octet
