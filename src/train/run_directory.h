// A run's directory: run.json (what ran, where, how it ended), metrics.jsonl (a line a step), checkpoints, report.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/run_files.h"

namespace octet {

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
  /// The step whose metrics come next.
  [[nodiscard]] std::int64_t first_step() const { return first_step_; }

  /// run.json of the run in `directory`.
  static void write_run(const std::filesystem::path& directory, const nlohmann::ordered_json& run);
  /// Appends a line and hands it to the system at once: a killed run loses none.
  void append(const io::StepMetrics& step);

 private:
  RunDirectory(std::filesystem::path path, std::int64_t first_step);

  std::filesystem::path path_;
  std::int64_t first_step_;
  std::ofstream metrics_;
};

/// Keeps the lines of a .jsonl file that are of steps up to `last_step`; a last line cut short by a kill goes too.
void drop_lines_after(const std::filesystem::path& path, std::int64_t last_step);

}  // namespace octet
