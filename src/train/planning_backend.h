// A backend for plans alone: it has every op, runs none, and asks for no workspace, which differs from device to
// device.
#pragma once

#include "ops/backend.h"

namespace octet {

/// Computes in both format families. Running an op or allocating an arena is a Failure.
[[nodiscard]] std::unique_ptr<ops::Backend> make_planning_backend();

}  // namespace octet
