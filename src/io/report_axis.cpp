// Ticks at 1, 2 and 5 times powers of ten, labelled with just the digits that their distance calls for.
#include "io/report_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"

namespace octet::io {
namespace {

constexpr std::array<double, 3> kRoundFactors{1, 2, 5};

/// The smallest of 1, 2, 5 times a power of ten that is at least `least` > 0.
double round_step(double least) {
  const double decade = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : kRoundFactors) {
    if (factor * decade >= least * (1 - 1e-9)) return factor * decade;
  }
  return 10 * decade;
}

/// Plain decimals; thousands as "12.5k" where these would grow long, and powers of ten at both ends.
std::string label_of(double value, double step, double largest) {
  const auto decimals = [](double unit) { return std::max(0, static_cast<int>(-std::floor(std::log10(unit) + 1e-9))); };
  if (std::abs(value) < step * 1e-6) return "0";
  if (largest >= 1e10 || decimals(step) > 4) return fmt::format("{:.1e}", value);
  if (largest >= 1e7) return fmt::format("{:.{}f}M", value / 1e6, decimals(step / 1e6));
  if (largest >= 1e4) return fmt::format("{:.{}f}k", value / 1e3, decimals(step / 1e3));
  return fmt::format("{:.{}f}", value, decimals(step));
}

}  // namespace

Axis::Axis(double low, double high, Scale scale, double first, double last, int most_ticks)
    : low_(low), high_(high), scale_(scale), first_(first), last_(last) {
  check(std::isfinite(low) && std::isfinite(high) && low <= high, "an axis has a finite range");
  check(scale != Scale::logarithmic || low > 0, "a logarithmic axis starts above zero");
  check(most_ticks >= 2, "an axis has room for two ticks");
  if (high_ - low_ <= std::abs(high_) * 1e-12) {
    const double margin = high_ == 0 ? 1 : std::abs(high_) / 2;
    low_ -= margin;
    high_ += margin;
  }
  if (scale_ == Scale::logarithmic) {
    make_logarithmic_ticks(most_ticks);
  } else {
    make_linear_ticks(most_ticks);
  }
}

double Axis::project(double value) const {
  return scale_ == Scale::logarithmic ? std::log10(value) : value;
}

double Axis::position(double value) const {
  const double share = (project(value) - project(low_)) / (project(high_) - project(low_));
  return first_ + share * (last_ - first_);
}

double Axis::value_at(double position) const {
  const double share = (position - first_) / (last_ - first_);
  const double projected = project(low_) + share * (project(high_) - project(low_));
  return scale_ == Scale::logarithmic ? std::pow(10.0, projected) : projected;
}

void Axis::make_linear_ticks(int most_ticks) {
  double step = round_step((high_ - low_) / most_ticks);
  if (scale_ == Scale::whole) step = std::max(step, 1.0);
  const auto count = [&] { return std::floor(high_ / step + 1e-9) - std::ceil(low_ / step - 1e-9) + 1; };
  while (count() > most_ticks) step = round_step(step * 1.5);
  const double largest = std::max(std::abs(low_), std::abs(high_));
  const double start = std::ceil(low_ / step - 1e-9);
  for (int i = 0; i < static_cast<int>(count()); ++i) {
    const double value = (start + i) * step;
    ticks_.push_back({value, label_of(value, step, largest)});
  }
}

/// Within two decades the round factors between the powers of ten are ticks too; over many decades some are skipped.
/// Where that leaves fewer than two, the range is so short that ticks at equal distances serve it.
void Axis::make_logarithmic_ticks(int most_ticks) {
  const int first = static_cast<int>(std::floor(std::log10(low_)));
  const int last = static_cast<int>(std::floor(std::log10(high_) + 1e-9));
  const bool subdivide = (last - first + 1) * 3 <= most_ticks + 3;
  const int stride = (last - first) / most_ticks + 1;
  for (int exponent = first; exponent <= last; exponent += stride) {
    for (const double factor : kRoundFactors) {
      const double value = factor * std::pow(10.0, exponent);
      const bool inside = value >= low_ * (1 - 1e-9) && value <= high_ * (1 + 1e-9);
      if (inside) ticks_.push_back({value, label_of(value, value, value)});
      if (!subdivide) break;
    }
  }
  if (ticks_.size() >= 2) return;
  ticks_.clear();
  make_linear_ticks(most_ticks);
}

}  // namespace octet::io
