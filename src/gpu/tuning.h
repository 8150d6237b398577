// How a way to compute a product is timed, and when one that is faster is worth a line of a committed table.
#pragma once

#include <functional>

#include "gpu/driver.h"

namespace octet::gpu {

inline constexpr double kWorthwhile = 1.02;  ///< a choice that gains less is noise

/// The median time on the device of what `run` puts on its stream. Forgets the driver's marks.
[[nodiscard]] double median_seconds(Driver& driver, const std::function<void()>& run);

}  // namespace octet::gpu
