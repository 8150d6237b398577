// A run's directory: run.json (what ran, where, how it ended), metrics.jsonl (a line a step), checkpoints, report.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace octet {

/// One line of metrics.jsonl. NaN becomes null.
struct StepRecord {
  std::int64_t step = 0;
  double loss = 0;
  double grad_norm = 0;
  double learning_rate = 0;
  double tokens_per_second = 0;
  double milliseconds = 0;
  std::int64_t memory_bytes = 0;
  std::optional<double> val_loss;
  bool skipped = false;  ///< the update was left out because of a NaN or inf

  [[nodiscard]] nlohmann::ordered_json json() const;
};

class RunDirectory {
 public:
  /// A new directory, or an existing empty one. UserError where it already holds a run or anything else.
  [[nodiscard]] static RunDirectory create(const std::filesystem::path& path);
  /// An existing run's directory; metrics after `last_step` are dropped, since those steps are run again.
  [[nodiscard]] static RunDirectory resume(const std::filesystem::path& path, std::int64_t last_step);
  /// Whether the directory holds a run.
  [[nodiscard]] static bool holds_run(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

  void write_run(const nlohmann::ordered_json& run) const;
  /// Appends a line and hands it to the system at once: a killed run loses none.
  void append(const StepRecord& record);

 private:
  explicit RunDirectory(std::filesystem::path path);

  std::filesystem::path path_;
  std::ofstream metrics_;
};

/// Keeps the lines of a .jsonl file that are of steps up to `last_step`; a last line cut short by a kill goes too.
void drop_lines_after(const std::filesystem::path& path, std::int64_t last_step);

/// A number for JSON: null where it is not finite.
[[nodiscard]] nlohmann::ordered_json number_or_null(double value);

}  // namespace octet
