// OpCheck<Op>: the cases of one op and how each is run and judged. Specialised in checks/, one file per family.
#pragma once

#include <algorithm>
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

/// The maxima that a case of a producer may want of its output.
struct Measured {
  bool rows = false;  ///< beside the codes alone: nobody measures rows without casting them
  bool columns = false;
};
inline constexpr std::array<Measured, 4> kMeasured{{{}, {.rows = true}, {.columns = true}, {true, true}}};

/// Every case of a producer with every choice of maxima.
template <typename Case, std::size_t N>
[[nodiscard]] constexpr auto measured(const std::array<Case, N>& cases) {
  std::array<Case, N * kMeasured.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = cases[i / kMeasured.size()];
    all[i].measured = kMeasured[i % kMeasured.size()];
  }
  return all;
}

template <typename Case, std::size_t N, std::size_t M>
[[nodiscard]] constexpr auto join(const std::array<Case, N>& a, const std::array<Case, M>& b) {
  std::array<Case, N + M> joined{};
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), joined.begin()));
  return joined;
}

[[nodiscard]] inline std::string describe(const fp8::ScaleRule& rule) {
  return fmt::format("{}{}", fp8::name(rule.format()), rule.power_of_two() ? ", scales powers of two" : "");
}
[[nodiscard]] inline std::string describe(const WantedCodes& codes) {
  return codes ? "codes " + describe(*codes) : "no codes";
}
[[nodiscard]] inline std::string_view describe(const Measured& measured) {
  if (measured.rows) return measured.columns ? ", rows and columns measured" : ", rows measured";
  return measured.columns ? ", columns measured" : "";
}

}  // namespace octet::ops::selftest
