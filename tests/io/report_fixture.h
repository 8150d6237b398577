// Runs made up for the tests: what octet train would write, to be altered by each test.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "io/run_files.h"

namespace octet::io::testing {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A finished run of two layers; FP8 unless `recipe` is bf16. Its validation loss is 3.
[[nodiscard]] nlohmann::json run_json(std::string_view name, std::string_view recipe);

/// `steps` lines, validated at every fifth step with a loss that falls to `last_val_loss`.
[[nodiscard]] std::string metrics_jsonl(int steps, double last_val_loss);

/// The two parsed together, with ten steps.
[[nodiscard]] RunRecord run_record(std::string_view name, std::string_view recipe, double val_loss);

/// An FP8 run that shows a fault on purpose and ends in NaN.
[[nodiscard]] RunRecord demonstration_record(std::string_view name);

}  // namespace octet::io::testing
