// Profile: where the time of some steps goes, op by op, as a file in Chrome's trace-event format, which
// ui.perfetto.dev and chrome://tracing show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ops/executor.h"
#include "train/step_range.h"

namespace octet {

/// Heard of spans and the ops in them by an executor; every op lies in a span.
class Profile final : public ops::Tracer {
 public:
  explicit Profile(StepRange steps) : steps_(steps) {}

  [[nodiscard]] const StepRange& steps() const { return steps_; }

  void on_op(ops::TracedOp op) override;
  void on_device_times(std::span<const ops::TraceInterval> times) override;
  void on_result(std::string_view name) override;
  void begin_span(ops::SpanKind kind, std::string_view name) override;
  void end_span() override;

  /// The events so far as JSON: times in microseconds since the first event; spans and ops as complete events (ph X),
  /// parents before what lies in them; planned memory in use as a counter (ph C).
  /// An op's arguments: layer and result (the tensor it helped to compute) where known, extents, element types of
  /// products, FLOPs, bytes that had to move, and the two rates.
  /// Of a device that runs behind the host there are two tracks. The host's holds when it put each op into the queue;
  /// the device's holds the ops as they ran and, around them, the phases and layers from their first op to their last.
  [[nodiscard]] std::string json() const;
  /// Replaces `path` by json(). Throws UserError where the disk refuses.
  void write(const std::filesystem::path& path) const;

 private:
  struct SpanEvent {
    ops::SpanKind kind = ops::SpanKind::phase;
    std::string name;
    ops::TraceInterval on_host;
    std::size_t last = 0;  ///< index of the last event in it; its own where there is none
  };
  struct OpEvent {
    ops::TracedOp op;
    std::string layer, result;
    std::optional<ops::TraceInterval> on_device;
  };
  using Event = std::variant<SpanEvent, OpEvent>;

  [[nodiscard]] std::string enclosing_layer() const;
  [[nodiscard]] std::optional<ops::TraceInterval> device_time_of(std::size_t span) const;

  StepRange steps_;
  std::vector<Event> events_;            ///< in the order in which they began
  std::vector<std::size_t> open_spans_;  ///< indices of events, outermost first
  std::size_t first_unnamed_ = 0;        ///< where the ops begin whose result has no name yet
  std::size_t first_untimed_ = 0;        ///< where those begin whose times on the device are not known yet
  bool has_device_ = false;              ///< that runs behind the host
};

}  // namespace octet
