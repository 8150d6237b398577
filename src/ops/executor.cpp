#include "ops/executor.h"

namespace octet::ops {

void Executor::set_tracer(Tracer* tracer) {
  settle_times();
  tracer_ = tracer;
  match_clocks();
}

/// Marks that are forgotten take the device's clock with them.
void Executor::match_clocks() {
  clock_.reset();
  if (tracer_ != nullptr && runs_behind()) clock_.emplace(backend_->device());
}

void Executor::settle_times() {
  if (timed_.empty()) return;
  wait();
  Device& device = backend_->device();
  std::vector<TraceInterval> times;
  for (const Timed& timed : timed_) {
    counts_.totals[timed.op].seconds += device.seconds_between(timed.from, timed.to);
    if (clock_) times.push_back({clock_->at(timed.from), clock_->at(timed.to)});
  }
  if (tracer_ != nullptr) tracer_->on_device_times(times);
  timed_.clear();
  device.forget_marks();
  match_clocks();
}

}  // namespace octet::ops
