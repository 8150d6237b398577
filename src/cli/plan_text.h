// What a run announces before its first step: device, model, precision table, memory plan.
#pragma once

#include <string>

#include "train/engine.h"

namespace octet::cli {

/// "1.5 GiB", "12.3 MiB".
[[nodiscard]] std::string bytes_text(double bytes);
/// "3.3 M", "8.03 B".
[[nodiscard]] std::string count_text(double count);
/// "2 h 05 m", "3 m 20 s", "12 s".
[[nodiscard]] std::string duration_text(double seconds);

/// How much of a plan is told: what is, or also what other choices would come to and what one GPU holds.
enum class PlanDetail : std::uint8_t { brief, full };

/// Device, model, precision table and memory plan of a run. In the precision table, layers that differ only in their
/// number are joined as layers.0-31.
[[nodiscard]] std::string plan_text(const Engine& engine, const Config& config, PlanDetail detail);

}  // namespace octet::cli
