// A run's curves for TensorBoard, in the directory `tensorboard` of the run.
#pragma once

#include <filesystem>

#include "io/config.h"
#include "io/tensorboard.h"
#include "train/run_directory.h"
#include "train/scale_watch.h"

namespace octet {

/// Tags are the fields of metrics.jsonl, and log2_scale/LAYER.OPERAND. UserError where a file cannot be written.
class EventLog {
 public:
  /// Begins a new event file, in which what earlier ones hold from `first_step` on is superseded.
  EventLog(const Config::Logging& logging, const std::filesystem::path& run_directory, std::int64_t first_step);

  /// Whether the step's FP8 scales are to be watched.
  [[nodiscard]] bool wants_scales(std::int64_t step) const;

  void append(const io::StepMetrics& record);
  /// Writes nothing where no scale was seen, as in bf16.
  void append(std::int64_t step, const ScaleWatch& scales);

 private:
  std::int64_t histogram_interval_;
  EventFile file_;
};

}  // namespace octet
