// Tracer: who watches where the time goes. It hears of every op after it ran, of named results, and of the spans
// (steps, phases, layers) that the ops lie in.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ranges.h"
#include "ops/op_shapes.h"

namespace octet::ops {

using TraceClock = std::chrono::steady_clock;

struct TraceInterval {
  TraceClock::time_point begin, end;
};

/// One op that ran, or that a device which runs behind the host was told to run.
struct TracedOp {
  std::string_view name;
  std::vector<Extent> extents;
  std::string types;  ///< of a product: "bf16 x bf16 -> bf16"
  double flops = 0;
  double bytes = 0;
  TraceInterval on_host;
  std::size_t arena_bytes = 0;  ///< of planned memory, in use while the op ran
};

/// What a span stands for: a part of the step, a layer whose name its ops bear, or the host's wait for the device.
enum class SpanKind : std::uint8_t { phase, layer, wait };

class Tracer {
 public:
  virtual ~Tracer() = default;
  virtual void on_op(TracedOp op) = 0;
  /// When a device that runs behind the host ran the ops heard of since the last call: one for each, in their order,
  /// by the host's clock.
  virtual void on_device_times(std::span<const TraceInterval> times) = 0;
  /// The ops since the last call computed this tensor: "layers.0.attention.wqkv.output".
  virtual void on_result(std::string_view name) = 0;
  virtual void begin_span(SpanKind kind, std::string_view name) = 0;
  virtual void end_span() = 0;
};

/// A span for as long as a scope lasts, or until `next`, for a tracer and for a profiler outside; either may be null.
/// Costs nothing where both are. `innermost`, where it is given, has the span's name for as long, and then again what
/// it had before.
class Span {
 public:
  Span(Tracer* tracer, octet::gpu::Ranges* ranges, SpanKind kind, std::string_view name,
       std::string_view* innermost = nullptr)
      : tracer_(tracer), ranges_(ranges), kind_(kind), innermost_(innermost) {
    begin(name);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span() { end(); }

  /// Ends the span and begins another of its kind.
  void next(std::string_view name) {
    end();
    begin(name);
  }

 private:
  void begin(std::string_view name) {
    if (innermost_ != nullptr) outer_ = std::exchange(*innermost_, name);
    if (tracer_ != nullptr) tracer_->begin_span(kind_, name);
    if (ranges_ != nullptr) ranges_->begin(name);
  }
  void end() {
    if (ranges_ != nullptr) ranges_->end();
    if (tracer_ != nullptr) tracer_->end_span();
    if (innermost_ != nullptr) *innermost_ = outer_;
  }

  Tracer* tracer_;
  octet::gpu::Ranges* ranges_;
  SpanKind kind_;
  std::string_view* innermost_;
  std::string_view outer_;
};

}  // namespace octet::ops
