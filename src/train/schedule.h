// Learning rate by step: linear warm-up, a plateau, then a decay to a share of the peak.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "io/config.h"

namespace octet {

/// The rate of `step`, counted from 1. Warm-up reaches the peak at step `warmup_steps`; the last `decay_fraction` of
/// the steps after it decay, and the last step ends at `min_lr_ratio` of the peak.
[[nodiscard]] inline double learning_rate(const Config& config, std::int64_t step) {
  const Config::Schedule& schedule = config.schedule;
  const double peak = config.optimizer.lr;
  const std::int64_t warmup = schedule.warmup_steps;
  if (step <= warmup) return peak * static_cast<double>(step) / static_cast<double>(warmup);
  const double after_warmup = static_cast<double>(config.training.steps - warmup);
  const double decaying = std::max(1.0, after_warmup * schedule.decay_fraction);
  const double plateau_end = static_cast<double>(config.training.steps) - decaying;
  const double progress = std::clamp((static_cast<double>(step) - plateau_end) / decaying, 0.0, 1.0);
  double left = 1.0;
  switch (schedule.decay) {
    case Config::Decay::constant:
      return peak;
    case Config::Decay::linear:
      left = 1.0 - progress;
      break;
    case Config::Decay::cosine:
      left = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
      break;
    case Config::Decay::sqrt:
      left = 1.0 - std::sqrt(progress);
      break;
  }
  return peak * (schedule.min_lr_ratio + (1.0 - schedule.min_lr_ratio) * left);
}

}  // namespace octet
