// What an executor tells tracers and profilers of ops on a device that runs behind the host.
#include "ops/executor.h"

#include <gtest/gtest.h>

#include <optional>

#include "ops/host_access.h"
#include "ops/lagging_backend.h"

namespace octet::test {
namespace {

using ops::TraceClock;
using ops::TraceInterval;

class Recording final : public ops::Tracer {
 public:
  void on_op(ops::TracedOp op) override { ops.push_back(std::move(op)); }
  void on_device_times(std::span<const TraceInterval> times) override {
    device_times.insert(device_times.end(), times.begin(), times.end());
  }
  void on_result(std::string_view) override {}
  void begin_span(ops::SpanKind kind, std::string_view) override {
    if (kind == ops::SpanKind::wait) ++waits;
  }
  void end_span() override {}

  std::vector<ops::TracedOp> ops;
  std::vector<TraceInterval> device_times;
  int waits = 0;
};

class Listing final : public gpu::Ranges {
 public:
  void begin(std::string_view name) override { text += "<" + std::string(name); }
  void end() override { text += ">"; }
  std::string text;
};

/// A program that clears one tensor some times.
class LaggingExecutor : public testing::Test {
 protected:
  LaggingExecutor() {
    x_ = planning_.allocate("x", DType::f32, 1, 64, MemoryClass::workspace);
    ops::Executor plan(*backend_, planning_);
    clear(plan, 1);
    EXPECT_EQ(ranges_.text, "") << "a plan runs nothing";
    memory_.emplace(planning_.finish(), backend_->device().allocator());
    x_ = memory_->allocate("x", DType::f32, 1, 64, MemoryClass::workspace);
    run_.emplace(*backend_, *memory_);
  }

  /// Some ops right behind each other.
  void clear(ops::Executor& run, int times) const {
    const auto span = run.phase("clearing");
    for (int i = 0; i < times; ++i) run(ops::Zero{x_.tensor().raw(), 256});
  }
  [[nodiscard]] const LaggingDevice& device() const { return lagging(*backend_); }

  Listing ranges_;
  std::unique_ptr<ops::Backend> backend_ = make_lagging_backend(&ranges_);
  Memory planning_;
  std::optional<Memory> memory_;
  Buffer x_;
  std::optional<ops::Executor> run_;
  Recording tracer_;
};

double seconds(TraceClock::duration time) {
  return std::chrono::duration<double>(time).count();
}

TEST_F(LaggingExecutor, TellsATracerWhenTheDeviceRanEachOp) {
  for (const std::size_t first : {0U, 5U}) {  // clocks are matched anew for later ops
    const auto begin = TraceClock::now();
    run_->set_tracer(&tracer_);
    const auto end = TraceClock::now();
    clear(*run_, 2);
    ops::write_value(backend_->device(), x_.ptr<float>(), 1.0F);
    clear(*run_, 3);
    EXPECT_EQ(tracer_.device_times.size(), first) << "the device has not run them";
    run_->settle_times();
    ASSERT_EQ(tracer_.device_times.size(), first + 5);
    const DeviceRun& origin = device().runs()[first];
    const TraceInterval& at = tracer_.device_times[first];
    EXPECT_GE(at.begin, begin) << "this clock stands still until then";
    EXPECT_LE(at.begin, end);
    for (std::size_t i = first; i < first + 5; ++i) {
      const DeviceRun& ran = device().runs()[i];
      EXPECT_NEAR(seconds(tracer_.device_times[i].begin - at.begin), ran.begin - origin.begin, 2e-9) << i;
      EXPECT_NEAR(seconds(tracer_.device_times[i].end - at.begin), ran.end - origin.begin, 2e-9) << i;
      EXPECT_GE(tracer_.ops[i].on_host.begin, end);
      EXPECT_LE(tracer_.ops[i].on_host.begin, tracer_.ops[i].on_host.end);
    }
  }
  EXPECT_EQ(tracer_.waits, 2) << "one each time that times were settled";
}

TEST_F(LaggingExecutor, ALaterTracerHearsOfLaterOpsAlone) {
  (void)run_->time_ops();
  clear(*run_, 3);
  run_->set_tracer(&tracer_);
  clear(*run_, 1);
  run_->set_tracer(nullptr);
  clear(*run_, 1);
  run_->settle_times();
  EXPECT_EQ(tracer_.ops.size(), 1U);
  EXPECT_EQ(tracer_.device_times.size(), 1U);
}

TEST_F(LaggingExecutor, IsNotHeldUpWhereNobodyWatches) {
  clear(*run_, 3);
  run_->settle_times();
  EXPECT_EQ(device().marks_taken(), 0);
  EXPECT_TRUE(device().runs().empty()) << "nothing was waited for";
}

TEST_F(LaggingExecutor, AddsUpTheTimesOfOps) {
  EXPECT_FALSE(run_->time_ops());
  clear(*run_, 2);
  run_->settle_times();
  clear(*run_, 2);
  EXPECT_TRUE(run_->time_ops(false));
  clear(*run_, 1);  // not timed
  run_->settle_times();
  const ops::OpTotals totals = run_->totals().at(ops::Zero::name);
  EXPECT_EQ(totals.calls, 5);
  EXPECT_NEAR(totals.seconds, (1 + 2 + 3 + 4) * 1e-6, 1e-12);
}

TEST_F(LaggingExecutor, TellsAProfilerOfSpansAndOps) {
  clear(*run_, 2);
  run_->wait();
  EXPECT_EQ(ranges_.text, "<clearing<zero><zero>><wait for the device>");
  EXPECT_EQ(device().marks_taken(), 0);
}

}  // namespace
}  // namespace octet::test
