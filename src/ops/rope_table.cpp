// Rotary frequencies and their table.
#include "ops/rope_table.h"

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

std::vector<float> rope_table(std::int64_t seq_len, std::int64_t head_dim, double theta,
                              const std::optional<RopeScaling>& scaling) {
  const std::vector<double> frequencies = rope_frequencies(head_dim, theta, scaling);
  std::vector<float> table;
  table.reserve(static_cast<std::size_t>(seq_len * head_dim));
  for (std::int64_t position = 0; position < seq_len; ++position) {
    for (const double frequency : frequencies) {
      table.push_back(static_cast<float>(std::cos(static_cast<double>(position) * frequency)));
    }
    for (const double frequency : frequencies) {
      table.push_back(static_cast<float>(std::sin(static_cast<double>(position) * frequency)));
    }
  }
  return table;
}

}  // namespace octet::ops
