// A device that cannot hold a plan: said before anything is allocated, with what would make it fit.
#pragma once

#include "io/config.h"
#include "train/engine.h"

namespace octet {

/// UserError where the device of the engine has less memory free than its plan takes. Names the least drastic settings
/// whose plan fits. They are found without op workspace, which is taken to stay what it is.
void check_memory(const Engine& engine, const Config& config);

}  // namespace octet
