// HIP drivers of this process on simulated GPUs, for tests of what lies below the op table.
#pragma once

#include "gpu/driver.h"

namespace octet::test {

/// A simulated gfx942, and a gfx950. The driver stays open until the other is asked for, as loading every kernel takes
/// a while and a thread works on one of HIP's devices at a time. Faults that the simulator's detectors find in a launch
/// surface as DeviceFault at the next call that waits.
[[nodiscard]] gpu::Driver& simulated_gfx942();
[[nodiscard]] gpu::Driver& simulated_gfx950();

}  // namespace octet::test
