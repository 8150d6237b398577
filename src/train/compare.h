// Where two runs part: the first step and the first number that are not the same in both.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/run_files.h"
#include "train/compare_records.h"

namespace octet {

/// A figure of metrics.jsonl that differs; NaN stands for what the file has as null.
struct MetricDifference {
  std::int64_t step = 0;
  std::string_view metric;  ///< "loss", "grad_norm" or "val_loss"
  double left = 0;
  double right = 0;

  /// Between the figures rounded to fp32, which losses are computed in, and between the doubles of the file.
  [[nodiscard]] std::uint64_t ulp_f32() const;
  [[nodiscard]] std::uint64_t ulp_f64() const;
};

struct MetricsComparison {
  std::int64_t common_steps = 0;
  std::int64_t differing_steps = 0;
  std::optional<MetricDifference> first;  ///< in the order in which a step computes: loss, gradient norm, validation
};

/// Something that a run says about itself and that the other says otherwise.
struct FactDifference {
  std::string key;
  std::string left;
  std::string right;
};

struct RunComparison {
  io::RunRecord left, right;
  std::vector<FactDifference> config;   ///< configuration keys
  std::vector<FactDifference> origins;  ///< commit, binary, machine, libraries
  MetricsComparison metrics;
  RecordsComparison records;
  std::vector<std::string> notes;  ///< what limits or explains the comparison, a line each

  [[nodiscard]] bool same() const { return !metrics.first && !records.first; }

  struct Place {
    std::int64_t step = 0;
    std::string what;  ///< "loss" or a tensor of a record
  };
  /// The earlier of the two first differences, in the order in which a step computes: loss, gradients, gradient norm,
  /// weights, validation loss. To be asked where the runs are not the same.
  [[nodiscard]] Place first_difference() const;
};

/// Compares what both directories hold: metrics of all common steps, then the records of both. With a tolerance of 0
/// numbers are the same where their bits are, or where both are NaN. A larger one lets numbers pass that lie at most so
/// many ulp apart: tensors in their own format, figures of metrics.jsonl in fp32.
/// Throws UserError where a directory holds no run, a file is damaged, or the runs have no step in common.
[[nodiscard]] RunComparison compare_run_directories(const std::filesystem::path& left,
                                                    const std::filesystem::path& right, std::uint64_t tolerance_ulp);

}  // namespace octet
