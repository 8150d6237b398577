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

[[nodiscard]] std::string model_text(const Engine& engine, std::int64_t seq_len);
/// One line per layer; layers that differ only in their number are joined as layers.0-31.
[[nodiscard]] std::string precision_text(const PrecisionPlan& precision);
[[nodiscard]] std::string memory_text(const Engine& engine);

}  // namespace octet::cli
