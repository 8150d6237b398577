#include "train/captured_step.h"

#include <string_view>
#include <utility>

namespace octet {
namespace {

std::string_view name(StepPart part) {
  constexpr std::array<std::string_view, kStepParts> kNames{"the first micro-batch", "a later micro-batch",
                                                            "the gradient's norm", "the optimizer"};
  return kNames[static_cast<std::size_t>(part)];
}

}  // namespace

void CapturedStep::begin(bool one_by_one) {
  mode_ = !enabled_ || one_by_one ? Mode::one_by_one : next_;
  if (mode_ == Mode::capture) parts_ = {};  // of a step that was left before its end
  if (mode_ == Mode::capture || mode_ == Mode::replay) launches_ = 0;
}

void CapturedStep::run(StepPart which, ops::Executor& run, const std::function<void()>& ops) {
  if (mode_ == Mode::one_by_one || mode_ == Mode::first) return ops();
  Part& part = parts_[static_cast<std::size_t>(which)];
  if (part.graph == nullptr) {
    check(mode_ == Mode::capture, "a step has the parts that were captured");
    part = capture(which, run, ops);
  }
  run.put_on_device(name(which));
  run.backend().device().replay(*part.graph);
  run.add_counts(part.counts);
  launches_ += part.graph->launches();
}

CapturedStep::Part CapturedStep::capture(StepPart part, ops::Executor& run, const std::function<void()>& ops) {
  ops::Device& device = run.backend().device();
  const ops::OpCounts before = run.take_counts();
  Part captured;
  try {
    device.begin_capture();
    ops();
    captured.graph = device.end_capture();
  } catch (const DeviceFault&) {  // of work before the capture: no matter of graphs
    device.abandon_capture();
    throw;
  } catch (const Failure& failure) {
    device.abandon_capture();
    throw Failure("{} was not captured as a graph: {}; runtime.graphs = \"off\" runs steps op by op", name(part),
                  failure.what());
  }
  captured.counts = run.take_counts();
  run.add_counts(before);
  return captured;
}

void CapturedStep::end() {
  if (mode_ == Mode::first) next_ = Mode::capture;
  if (mode_ == Mode::capture) next_ = Mode::replay;
  if (mode_ == Mode::replay) ++replayed_steps_;
}

}  // namespace octet
