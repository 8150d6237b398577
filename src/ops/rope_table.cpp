// Rotary frequencies and their table.
#include "ops/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace octet::ops {
namespace {

double scaled(double frequency, const RopeScaling& scaling) {
  const double turns = static_cast<double>(scaling.original_max_seq_len) * frequency / (2 * std::numbers::pi);
  if (turns >= scaling.high_freq_factor) return frequency;
  if (turns <= scaling.low_freq_factor) return frequency / scaling.factor;
  const double kept = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return std::lerp(frequency / scaling.factor, frequency, kept);
}

}  // namespace

std::vector<double> rope_frequencies(std::int64_t head_dim, double theta, const std::optional<RopeScaling>& scaling) {
  check(head_dim % 2 == 0, "rotary positions need an even head dimension");
  check(theta > 0, "rotary theta is positive");
  if (scaling) {
    check(scaling->factor > 0, "a rotary scaling factor is positive");
    check(scaling->low_freq_factor < scaling->high_freq_factor, "low_freq_factor lies below high_freq_factor");
  }
  std::vector<double> frequencies(static_cast<std::size_t>(head_dim / 2));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double frequency = std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(head_dim));
    frequencies[i] = scaling ? scaled(frequency, *scaling) : frequency;
  }
  return frequencies;
}

double YarnScaling::growth(double weight) const {
  return 0.1 * weight * std::log(factor) + 1;
}

std::vector<double> yarn_frequencies(std::int64_t dim, double theta, const YarnScaling& scaling) {
  check(theta > 1, "rotary theta is above 1");
  check(scaling.factor >= 1, "YaRN's factor is at least 1");
  check(scaling.beta_slow < scaling.beta_fast, "beta_slow lies below beta_fast");
  std::vector<double> frequencies = rope_frequencies(dim, theta, std::nullopt);
  // The pair, not always a whole one, that turns so often within the original length.
  const auto pair_that_turns = [&](double turns) {
    const auto length = static_cast<double>(scaling.original_max_seq_len);
    return static_cast<double>(dim) * std::log(length / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta));
  };
  const double last = static_cast<double>(dim - 1);
  const double first_mixed = std::max(std::floor(pair_that_turns(scaling.beta_fast)), 0.0);
  double first_divided = std::min(std::ceil(pair_that_turns(scaling.beta_slow)), last);
  if (first_mixed == first_divided) first_divided += 0.001;  // a step in place of a ramp
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double along = (static_cast<double>(i) - first_mixed) / (first_divided - first_mixed);
    const double divided = std::clamp(along, 0.0, 1.0);
    frequencies[i] = std::lerp(frequencies[i], frequencies[i] / scaling.factor, divided);
  }
  return frequencies;
}

std::vector<float> rope_table(std::int64_t seq_len, const std::vector<double>& frequencies, double magnitude) {
  std::vector<float> table;
  table.reserve(static_cast<std::size_t>(seq_len) * 2 * frequencies.size());
  for (std::int64_t position = 0; position < seq_len; ++position) {
    for (const double frequency : frequencies) {
      table.push_back(static_cast<float>(magnitude * std::cos(static_cast<double>(position) * frequency)));
    }
    for (const double frequency : frequencies) {
      table.push_back(static_cast<float>(magnitude * std::sin(static_cast<double>(position) * frequency)));
    }
  }
  return table;
}

std::vector<float> rope_table(std::int64_t seq_len, std::int64_t head_dim, double theta,
                              const std::optional<RopeScaling>& scaling) {
  return rope_table(seq_len, rope_frequencies(head_dim, theta, scaling), 1);
}

}  // namespace octet::ops
