// Central differences in double precision: the check of every gradient that is written by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/random.h"
#include "ops/reference/vectors.h"

namespace octet::test {

using ops::reference::Index;
using ops::reference::Vector;
using ops::reference::View;

/// Standard normal numbers that depend on the name alone.
inline Vector random_vector(std::string_view name, Index count, double scale = 1) {
  Vector values(count);
  for (Index i = 0; i < count; ++i) values[i] = scale * normal(1, stream_of(name), i);
  return values;
}

/// Compares `gradient` with the differences of the scalar function `loss()` as each element of `x`, on which it
/// depends, moves. The step balances truncation (step^2) against rounding (1e-16 / step); errors are relative to the
/// largest element, since small ones are differences of large losses.
template <typename Loss>
void expect_gradient(std::string_view name, Vector& x, View gradient, Loss loss) {
  constexpr double kStep = 1e-5;
  constexpr double kTolerance = 1e-6;
  ASSERT_EQ(x.size(), gradient.size()) << name;
  double largest = 1e-3;
  for (const double value : gradient) largest = std::max(largest, std::abs(value));
  for (Index i = 0; i < std::ssize(x); ++i) {
    const double kept = x[i];
    x[i] = kept + kStep;
    const double above = loss();
    x[i] = kept - kStep;
    const double below = loss();
    x[i] = kept;
    ASSERT_NEAR(gradient[i], (above - below) / (2 * kStep), kTolerance * largest) << name << '[' << i << ']';
  }
}

}  // namespace octet::test
