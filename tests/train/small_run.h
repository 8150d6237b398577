// Runs of the small model in a directory of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "data/shard_writer.h"
#include "io/scratch.h"
#include "train/small_engine.h"
#include "train/trainer.h"

namespace octet::test {

/// Hears everything and says nothing.
class SilentListener : public TrainListener {
 public:
  void on_start(const Engine&, std::int64_t, std::int64_t) override {}
  void on_records(const RecordPlan&) override {}
  void on_untuned_products(const std::vector<std::string>&) override {}
  void on_step(const io::StepMetrics&, double) override {}
  void on_checkpoint(const std::filesystem::path&, const io::SavedCheckpoint&) override {}
  void on_checkpoint_wait(std::int64_t, std::int64_t) override {}
  void on_skip(std::int64_t, const std::string&) override {}
  void on_watch(const io::WatchedStep&) override {}
};

class SmallRuns : public testing::Test {
 protected:
  SmallRuns() {
    ShardWriter shard(data_, 256);
    std::vector<std::int32_t> tokens(1000);
    std::ranges::generate(tokens, [n = 0]() mutable { return n = (n * 37 + 11) % 256; });
    shard.append(tokens);
    shard.finish();
  }

  [[nodiscard]] std::filesystem::path path(std::string_view run) const { return scratch_.path() / run; }

  /// Four steps in `run` unless `overrides`, which are "section.key=value", say otherwise.
  [[nodiscard]] TrainRequest request(std::string_view run, std::vector<std::string> overrides = {}) const {
    overrides.push_back("data.train=" + data_.string());
    overrides.push_back("data.validation=" + data_.string());
    return {small_config(overrides), path(run), Resume::never, {"test"}};
  }

  static TrainOutcome train(TrainRequest request) {
    SilentListener silent;
    return Trainer(std::move(request), silent, [] { return 0; }).train();
  }

 private:
  ScratchDirectory scratch_;
  std::filesystem::path data_ = scratch_.path() / "data.tok";
};

}  // namespace octet::test
