// How runs compare: each run's gap to the bf16 runs, and the spread of the bf16 seeds that the gap is read against.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/run_files.h"

namespace octet::io {

enum class RunRole { bf16, fp8, demonstration };

[[nodiscard]] RunRole role_of(const RunRecord& run);

/// Validation losses of the bf16 runs at one point, in nats per token. One NaN makes all of it NaN.
struct Bf16Losses {
  int runs = 0;
  double mean = 0;
  double low = 0;
  double high = 0;
};

/// Absent where `losses` is empty.
[[nodiscard]] std::optional<Bf16Losses> bf16_losses(std::span<const double> losses);

struct ComparedRun {
  const RunRecord* run = nullptr;
  RunRole role = RunRole::fp8;
  std::string label;          // the run's name, with its directory where two runs share the name
  std::optional<double> gap;  // validation loss minus the mean of the bf16 runs, in nats
};

struct Comparison {
  std::vector<ComparedRun> runs;      // in the order given
  std::optional<Bf16Losses> bf16;     // at the end of training
  std::optional<double> bf16_spread;  // largest minus smallest, from two bf16 runs on
};

/// The comparison points into `runs`, which must outlive it.
[[nodiscard]] Comparison compare_runs(std::span<const RunRecord> runs);

/// The gap may reach this, in nats, before a quickstart fails.
inline constexpr double kLargestGap = 0.02;

/// Verdicts of a comparison already made; see verdicts() in report.h.
[[nodiscard]] std::vector<std::string> verdicts(const Comparison& comparison);

}  // namespace octet::io
