// The step loop: data in, steps, validation, checkpoints, metrics; stops cleanly and goes on where it stopped.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "data/prefetcher.h"
#include "io/config.h"
#include "train/checkpoint.h"
#include "train/checkpoint_saver.h"
#include "train/engine.h"
#include "train/event_log.h"
#include "train/profile.h"
#include "train/recorder.h"
#include "train/run_directory.h"
#include "train/run_record.h"
#include "train/watch_log.h"

namespace octet {

enum class Resume : std::uint8_t {
  never,      ///< a directory that holds a run is an error
  must,       ///< a run with a checkpoint is expected
  when_there  ///< goes on where there is a checkpoint, begins where there is none
};

struct TrainRequest {
  LoadedConfig loaded;
  std::filesystem::path run_directory;
  Resume resume = Resume::never;
  std::vector<std::string> command_line;
  bool demonstrate_fault = false;                                 ///< trains e4m3fnuz with scales for 448 on purpose
  std::optional<StepRange> profile = std::nullopt;                ///< the steps to trace
  RecordRequest record = {};                                      ///< what to keep for octet compare
  std::optional<std::filesystem::path> init_from = std::nullopt;  ///< a model whose weights a new run begins with
};

/// What the loop tells whoever prints. All calls come from the loop's thread.
class TrainListener {
 public:
  virtual ~TrainListener() = default;
  virtual void on_start(const Engine& engine, std::int64_t first_step, std::int64_t last_step) = 0;
  virtual void on_records(const RecordPlan& plan) = 0;  ///< before the first step, where any are kept
  /// After the run's first step, where a device took the first of several ways for some products: see
  /// ops::Device::untuned_products.
  virtual void on_untuned_products(const std::vector<std::string>& products) = 0;
  virtual void on_step(const io::StepMetrics& record, double seconds_left) = 0;
  /// Of a whole checkpoint below `directory`: between two later steps where it was written behind them.
  virtual void on_checkpoint(const std::filesystem::path& directory, const io::SavedCheckpoint& saved) = 0;
  /// The checkpoint of step `next` waits for that of step `earlier`, which is still being written.
  virtual void on_checkpoint_wait(std::int64_t earlier, std::int64_t next) = 0;
  virtual void on_skip(std::int64_t step, const std::string& first_non_finite) = 0;
  virtual void on_watch(const io::WatchedStep& watched) = 0;  ///< before its on_step
};

/// How a run ended. `signal` is what interrupted it, 0 for the wall-clock limit.
struct TrainOutcome {
  bool finished = false;
  int signal = 0;
  std::int64_t steps_done = 0;
  RunResult result;
};

class Trainer {
 public:
  /// Opens data and run directory, allocates, and loads the checkpoint to go on from. `pending_signal` returns a signal
  /// that asks the loop to stop after the current step, or 0. Throws UserError for bad input, Failure for a fault of
  /// the device.
  Trainer(TrainRequest request, TrainListener& listener, std::function<int()> pending_signal);

  /// Trains to the last step or to an interruption, leaving a checkpoint either way. Throws UserError for bad input and
  /// Failure where a NaN or inf or a fault of the device stops the run; run.json then says "failed".
  [[nodiscard]] TrainOutcome train();

 private:
  void prepare_profile();
  void prepare_records();
  void prepare_logs();
  [[nodiscard]] std::filesystem::path profile_path() const { return request_.run_directory / "profile.json"; }
  [[nodiscard]] io::StepMetrics run_step(std::int64_t step);
  [[nodiscard]] io::StepMetrics train_step(std::int64_t step);
  [[nodiscard]] StepOutcome compute_gradients(std::int64_t step);
  void handle_non_finite(io::StepMetrics& record);
  void append(const io::StepMetrics& record);
  [[nodiscard]] bool validates_after(std::int64_t step) const;
  [[nodiscard]] double validation_loss(const ValidationLoader& data);
  void checkpoint(std::int64_t step, bool last);
  void note(const std::optional<io::SavedCheckpoint>& saved);
  [[nodiscard]] TrainOutcome loop();
  [[nodiscard]] bool wants_to_stop(TrainOutcome& outcome) const;
  void report_untuned_products();
  void summarize(TrainOutcome& outcome) const;
  void write_status(const char* status, const std::optional<RunResult>& result);

  TrainRequest request_;
  const Config& config_;
  TrainListener& listener_;
  std::function<int()> pending_signal_;
  Engine engine_;
  Prefetcher loader_;
  std::optional<ValidationLoader> validation_;  ///< with data.validation
  RunFacts facts_;
  RunDirectory directory_;
  std::int64_t first_step_;
  std::optional<WatchLog> watch_log_;  ///< where precision.shadow asks for one
  std::optional<EventLog> events_;     ///< with logging.tensorboard
  std::optional<Profile> profile_;
  std::optional<Recorder> recorder_;
  CheckpointSaver saver_;
  std::optional<io::SavedCheckpoint> saved_;  ///< since the last line of metrics
  double started_ = 0;                        ///< seconds of a steady clock
  std::vector<io::StepMetrics> metrics_;
};

}  // namespace octet
