// CapturedStep: the parts of a training step as graphs. The first step runs its ops one by one, which loads all that
// they need; the second captures them; from then on they are replayed, and the host is free.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "ops/executor.h"

namespace octet {

/// What is captured apart: between these the host brings values, decides, or runs a part as often as is configured.
enum class StepPart : std::uint8_t { first_micro_batch, later_micro_batch, gradient_norm, optimizer };
inline constexpr std::size_t kStepParts = 4;

/// A graph has the arguments of its capture for good. So a part's ops depend on nothing that differs from step to step
/// but device memory, whose addresses the plan fixes, and they neither wait nor copy between host and device.
///
/// A step's parts are run alike, all op by op or all replayed: memory that one requests may be given back by the next,
/// and replays request none. What they work in has been counted by Memory::measured_peak before.
class CapturedStep {
 public:
  /// Captures nothing.
  CapturedStep() = default;
  /// With `enabled`, on a device that can capture.
  explicit CapturedStep(bool enabled) : enabled_(enabled) {}

  /// Before the first part of a step. `one_by_one`: not this step, since somebody watches its ops; graphs stay valid.
  void begin(bool one_by_one);
  /// Runs `ops`, which go through `run`, or replays them. They count in `run` either way. Throws Failure where the
  /// device cannot capture them.
  void run(StepPart part, ops::Executor& run, const std::function<void()>& ops);
  /// After the last part. A step that is left before, without an update, is no step to go on from.
  void end();

  [[nodiscard]] bool enabled() const { return enabled_; }
  /// Whether the last step was replayed.
  [[nodiscard]] bool replayed() const { return mode_ == Mode::replay; }
  [[nodiscard]] std::int64_t replayed_steps() const { return replayed_steps_; }
  /// Kernels, copies and clears that the graphs of the last such step started, one graph a part.
  [[nodiscard]] std::int64_t launches() const { return launches_; }

 private:
  enum class Mode : std::uint8_t { one_by_one, first, capture, replay };
  struct Part {
    std::unique_ptr<Graph> graph;
    ops::OpCounts counts;
  };

  static Part capture(StepPart part, ops::Executor& run, const std::function<void()>& ops);

  bool enabled_ = false;
  Mode next_ = Mode::first;       // of the next step that nobody watches
  Mode mode_ = Mode::one_by_one;  // of this step
  std::array<Part, kStepParts> parts_;
  std::int64_t launches_ = 0;
  std::int64_t replayed_steps_ = 0;
};

}  // namespace octet
