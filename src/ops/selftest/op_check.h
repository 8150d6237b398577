// OpCheck<Op>: the cases of one op and how each is run and judged. Specialised in checks/, one file per family.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "fp8/scale.h"
#include "ops/ops.h"
#include "ops/selftest/trial.h"

namespace octet::ops::selftest {

/// A specialisation has
///   kCases, kThoroughCases: arrays of a struct of its own that has `std::string describe() const`;
///   static void run(Trial& trial, const Case& c).
/// Not defined in general: an op without a check does not compile.
template <typename Op>
struct OpCheck;

inline constexpr std::array kFormats{fp8::Format::e4m3fn, fp8::Format::e4m3fnuz, fp8::Format::e5m2,
                                     fp8::Format::e5m2fnuz};

/// Rules for the codes that a case may want: scales that are powers of two, and scales as they come out.
inline constexpr auto kE4m3fn = fp8::ScaleRule::of(fp8::Format::e4m3fn, true);
inline constexpr auto kE4m3fnuz = fp8::ScaleRule::of(fp8::Format::e4m3fnuz, true);
inline constexpr auto kE5m2 = fp8::ScaleRule::of(fp8::Format::e5m2, true);
inline constexpr auto kE5m2fnuz = fp8::ScaleRule::of(fp8::Format::e5m2fnuz, true);
inline constexpr auto kE4m3fnAnyScale = fp8::ScaleRule::of(fp8::Format::e4m3fn, false);
inline constexpr auto kE4m3fnuzAnyScale = fp8::ScaleRule::of(fp8::Format::e4m3fnuz, false);

/// A fused cast that a case may want.
using WantedCodes = std::optional<fp8::ScaleRule>;

[[nodiscard]] inline std::string describe(const fp8::ScaleRule& rule) {
  return fmt::format("{}{}", fp8::name(rule.format()), rule.power_of_two() ? ", scales powers of two" : "");
}
[[nodiscard]] inline std::string describe(const WantedCodes& codes) {
  return codes ? "codes " + describe(*codes) : "no codes";
}

}  // namespace octet::ops::selftest
