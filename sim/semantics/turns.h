// Sine and cosine of angles in turns. AMD CDNA4 ISA, 12.8 VOP1: V_SIN_F32, V_COS_F32, V_SIN_F16, V_COS_F16.
#pragma once

#include <cmath>
#include <limits>

namespace octet::sim {

/// sin(2 pi (turns + quarters / 4)), exact where that is 0 or 1, as the ISA's examples are; never -0. NaN where there
/// is no angle.
[[nodiscard]] inline double sine_of_turns(double turns, int quarters) {
  constexpr double kTwoPi = 6.283185307179586476925286766559;
  if (!std::isfinite(turns)) return std::numeric_limits<double>::quiet_NaN();
  const double nearest = std::nearbyint(4 * turns);
  const double angle = kTwoPi * (turns - nearest / 4);
  const int quadrant = (static_cast<int>(std::fmod(nearest, 4.0)) + quarters) & 3;
  const double value = quadrant % 2 == 0 ? std::sin(angle) : std::cos(angle);
  return (quadrant < 2 ? value : -value) + 0.0;
}

[[nodiscard]] inline double sine_of_turns(double turns) {
  return turns == 0 ? turns : sine_of_turns(turns, 0);
}
[[nodiscard]] inline double cosine_of_turns(double turns) {
  return sine_of_turns(turns, 1);
}

}  // namespace octet::sim
