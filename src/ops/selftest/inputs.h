// Inputs of the op cases: random tensors that depend on their name alone, and the values that casts find hard.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "ops/reference/vectors.h"

namespace octet::ops::selftest {

using reference::Index;
using reference::Vector;
using reference::View;

/// Half a unit in the last place of 1: the largest relative error of one rounding.
inline constexpr double kRoundoffF32 = 0x1p-24;
inline constexpr double kRoundoffF64 = 0x1p-53;
/// What exp() may lose at its ends: below the smallest normal float it need not be right.
inline constexpr double kTiny = 0x1p-120;

/// Nearly normal numbers with standard deviation `scale`, at most 3.5 times that.
[[nodiscard]] std::vector<bf16> random_bf16(std::string_view name, Index count, double scale = 1);
[[nodiscard]] std::vector<float> random_f32(std::string_view name, Index count, double scale = 1);
/// Whole numbers in [0, limit).
[[nodiscard]] std::vector<std::int32_t> random_tokens(std::string_view name, Index count, Index limit);

/// Puts a NaN and both infinities into places spread over `values`.
void add_non_finite(std::vector<bf16>& values);
void add_non_finite(std::vector<float>& values);

[[nodiscard]] bf16 round_to_bf16(double x);
[[nodiscard]] std::vector<bf16> round_to_bf16(View x);
[[nodiscard]] std::vector<float> round_to_f32(View x);
[[nodiscard]] Vector magnitudes(View x);
[[nodiscard]] double largest_magnitude(View x);

/// What the rows of a cast hold.
enum class Content : std::uint8_t {
  ordinary,  // normal numbers
  wide,      // every exponent of bf16, subnormals included
  zeros,     // of both signs
  tiny,      // below the floor of amax
  ties,      // halfway between codes, and the neighbours of halfway
  with_nan,
  with_infinity,
};
inline constexpr std::array kContents{Content::ordinary, Content::wide,     Content::zeros,        Content::tiny,
                                      Content::ties,     Content::with_nan, Content::with_infinity};

[[nodiscard]] std::string_view name(Content content);
/// [count] numbers of that kind; NaN and infinities are rare, so that most rows of a matrix are free of them.
[[nodiscard]] std::vector<bf16> make_content(Content content, Index count);

}  // namespace octet::ops::selftest
