// The CPU as a device that can capture: what is recorded is the ops as they were given, pointers and numbers by value,
// as a GPU's graph has them. It refuses during a capture what a GPU refuses.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/cpu/cpu_backend.h"

namespace octet::test {

class RecordedOps final : public Graph {
 public:
  explicit RecordedOps(std::vector<std::function<void()>> ops) : ops_(std::move(ops)) {}
  [[nodiscard]] std::int64_t launches() const override { return static_cast<std::int64_t>(ops_.size()); }
  void run() const {
    for (const auto& op : ops_) op();
  }

 private:
  std::vector<std::function<void()>> ops_;
};

class RecordingDevice final : public ops::Device {
 public:
  // What tests set and read.
  std::int64_t ops_run = 0;  ///< one by one
  std::int64_t captures = 0;
  std::int64_t replays = 0;
  bool keeps_scalars = false;      ///< a fault: AdamW's scalars are those of the capture for good
  std::string_view cannot_record;  ///< an op whose capture fails

  [[nodiscard]] std::string description() const override { return "a recording cpu"; }
  [[nodiscard]] std::vector<fp8::FormatFamily> families() const override { return cpu_->device().families(); }
  [[nodiscard]] ArenaAllocator allocator() override {
    return [this](std::size_t bytes) {
      refuse_in_capture("allocating");
      return cpu_->device().allocator()(bytes);
    };
  }

  [[nodiscard]] bool host_memory() const override { return false; }
  [[nodiscard]] bool recomputes_casts() const override { return true; }
  void upload(void* to, const void* from, std::size_t bytes) override {
    refuse_in_capture("an upload");
    Device::upload(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    refuse_in_capture("a download");
    Device::download(to, from, bytes);
  }
  void finish() override { refuse_in_capture("waiting"); }
  [[nodiscard]] std::int64_t mark() override {
    refuse_in_capture("a mark");
    return 0;
  }

  [[nodiscard]] bool can_capture() const override { return true; }
  void begin_capture() override {
    refuse_in_capture("a second capture");
    capturing_ = true;
  }
  [[nodiscard]] std::unique_ptr<Graph> end_capture() override {
    capturing_ = false;
    ++captures;
    return std::make_unique<RecordedOps>(std::exchange(recorded_, {}));
  }
  void abandon_capture() noexcept override {
    capturing_ = false;
    recorded_.clear();
  }
  void replay(const Graph& graph) override {
    refuse_in_capture("a replay");
    ++replays;
    static_cast<const RecordedOps&>(graph).run();
  }

  template <typename Op>
  static void run(ops::Device& device, const Op& op, ops::Workspace workspace) {
    auto& self = static_cast<RecordingDevice&>(device);
    if (self.capturing_) return self.record(op, workspace);
    ++self.ops_run;
    self.cpu_->run(op, workspace);
  }
  template <typename Op>
  static std::size_t workspace_bytes(const ops::Device& device, const Op& op) {
    return static_cast<const RecordingDevice&>(device).cpu_->workspace_bytes(op);
  }

 private:
  void refuse_in_capture(std::string_view what) const {
    if (capturing_) throw Failure("{} while ops are captured", what);
  }

  template <typename Op>
  void record(Op op, ops::Workspace workspace) {
    if (Op::name == cannot_record) refuse_in_capture(Op::name);
    if constexpr (std::is_same_v<Op, ops::AdamW>) {
      if (keeps_scalars) op.scalars = &kept_.emplace_back(*op.scalars);
    }
    recorded_.emplace_back([this, op, workspace] { cpu_->run(op, workspace); });
  }

  std::unique_ptr<ops::Backend> cpu_ = ops::make_cpu_backend(1);
  bool capturing_ = false;
  std::vector<std::function<void()>> recorded_;
  std::deque<ops::StepScalars> kept_;
};

template <typename Op>
void route_through_recording_device(ops::Entry<Op>& entry) {
  entry = {&RecordingDevice::run<Op>, &RecordingDevice::workspace_bytes<Op>};
}

[[nodiscard]] inline std::unique_ptr<ops::Backend> make_recording_backend() {
  ops::OpTable table;
  std::apply([](auto&... entries) { (route_through_recording_device(entries), ...); }, table);
  return std::make_unique<ops::Backend>("recording", std::make_unique<RecordingDevice>(), table);
}

}  // namespace octet::test
