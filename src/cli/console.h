// Prints a run: what it is before the first step, then one updating line on a terminal or plain lines elsewhere.
#pragma once

#include <string>

#include "train/trainer.h"

namespace octet::cli {

class Console final : public TrainListener {
 public:
  explicit Console(const Config& config);

  void on_start(const Engine& engine, std::int64_t first_step, std::int64_t last_step) override;
  void on_records(const RecordPlan& plan) override;
  void on_untuned_products(const std::vector<std::string>& products) override;
  void on_step(const io::StepMetrics& record, double seconds_left) override;
  void on_checkpoint(const std::filesystem::path& directory, const io::SavedCheckpoint& saved) override;
  void on_checkpoint_wait(std::int64_t earlier, std::int64_t next) override;
  void on_skip(std::int64_t step, const std::string& first_non_finite) override;
  void on_watch(const io::WatchedStep& watched) override;

 private:
  void end_updating_line();

  const Config& config_;
  std::int64_t last_step_ = 0;
  bool terminal_;
  bool line_open_ = false;
};

}  // namespace octet::cli
