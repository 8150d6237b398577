// How far one tensor is from another, in double precision.
#pragma once

#include "ops/reference/vectors.h"

namespace octet::ops::reference {

struct Energies {
  double signal = 0;  ///< sum of reference^2
  double noise = 0;   ///< sum of (x - reference)^2
};

/// Both [n].
[[nodiscard]] Energies difference(View reference, View x);

}  // namespace octet::ops::reference
