// Prints a run: what it is before the first step, then one updating line on a terminal or plain lines elsewhere.
#pragma once

#include <string>

#include "train/trainer.h"

namespace octet::cli {

class Console final : public TrainListener {
 public:
  /// `interval`: a plain line every so many steps. `seq_len` as the FLOP count takes it.
  Console(std::int64_t interval, std::int64_t seq_len);

  void on_start(const Engine& engine, std::int64_t first_step, std::int64_t last_step) override;
  void on_step(const StepRecord& record, double seconds_left) override;
  void on_checkpoint(const std::filesystem::path& directory, std::int64_t step) override;
  void on_skip(std::int64_t step, const std::string& first_non_finite) override;
  void on_watch(const io::WatchedStep& watched) override;

 private:
  void end_updating_line();

  std::int64_t interval_;
  std::int64_t seq_len_;
  std::int64_t last_step_ = 0;
  bool terminal_;
  bool line_open_ = false;
};

}  // namespace octet::cli
