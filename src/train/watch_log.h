// watch.jsonl: what the numerics watch of a run finds, a line a watched step. io/run_files.h has its format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "io/run_files.h"
#include "train/engine.h"

namespace octet {

/// What the engine's last watched micro-batch showed.
[[nodiscard]] io::WatchedStep describe_watched(const Engine& engine, std::int64_t step);

class WatchLog {
 public:
  /// Of the run in `run_directory`; lines after `last_step` are dropped, since those steps are run again. Throws
  /// UserError where the disk refuses.
  WatchLog(const std::filesystem::path& run_directory, std::int64_t last_step);

  /// Appends a line and hands it to the system at once. Throws UserError for a full disk.
  void append(const io::WatchedStep& watched);

 private:
  std::filesystem::path path_;
  std::ofstream lines_;
};

}  // namespace octet
