// Saves a run's checkpoints: behind the steps that follow, or in one go.
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <optional>

#include "io/config.h"
#include "io/run_files.h"
#include "train/checkpoint.h"
#include "train/checkpoint_staging.h"
#include "train/engine.h"

namespace octet {

/// All saves of a run so far.
struct SaveTotals {
  std::int64_t saves = 0;
  double milliseconds = 0;
  double stall_milliseconds = 0;
};

/// At most one save is under way. What a thread of its own does for it reads nothing that steps change: see
/// CheckpointStaging. An error of that thread comes out of the next call; older checkpoints are untouched then.
class CheckpointSaver {
 public:
  /// Saves below `directory`. Takes the memory of the copy where checkpoint_staging_bytes() says that there is one.
  /// `engine` must outlive this object, which hears of its updates.
  CheckpointSaver(std::filesystem::path directory, Engine& engine, const Config& config);
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;
  /// Waits for the save under way.
  ~CheckpointSaver();

  /// Begins to save the parameters as they are; they may be trained on at once. Only while no other save is under way.
  /// Without a copy, or as the run's `last`, it is done when this returns, and next() has it.
  void save(const TrainState& state, bool last);
  /// The step whose save is under way.
  [[nodiscard]] std::optional<std::int64_t> under_way() const;
  /// The save that has been completed since, once; nothing where there is none.
  [[nodiscard]] std::optional<io::SavedCheckpoint> next();
  /// The same, waiting for the one under way, which then stalls the run.
  [[nodiscard]] std::optional<io::SavedCheckpoint> finish();
  /// Waits for the one under way, in whatever way it ends: for who stops for a reason of greater weight.
  void settle() noexcept;

  [[nodiscard]] const SaveTotals& totals() const { return totals_; }

 private:
  [[nodiscard]] bool copies_behind_steps() const;
  void save_now(const TrainState& state);
  void save_behind_steps(const TrainState& state);
  void collect();
  void note(const io::SavedCheckpoint& saved);

  std::filesystem::path directory_;
  Engine& engine_;
  const Config& config_;
  std::optional<CheckpointStaging> staging_;
  io::SavedCheckpoint saving_;  ///< step and stall of the one under way
  std::optional<io::SavedCheckpoint> saved_;
  SaveTotals totals_;
  std::future<double> milliseconds_;  ///< what the save under way takes
};

}  // namespace octet
