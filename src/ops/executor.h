// Executor: through which the model calls ops. While a plan is made it only counts; in a real step it gives each op its
// workspace, runs it, and keeps what profiling and the numerics watch need.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/memory.h"
#include "ops/backend.h"
#include "ops/device_clock.h"
#include "ops/tracer.h"

namespace octet::ops {

/// Totals of one op since the last reset.
struct OpTotals {
  std::int64_t calls = 0;
  double flops = 0;
  double bytes = 0;
  double seconds = 0;  ///< wall time; zero in plans
};

/// What ops came to.
struct OpCounts {
  std::map<std::string_view, OpTotals> totals;
  std::uint64_t fp8_codes_used = 0;

  void add(const OpCounts& other) {
    for (const auto& [op, more] : other.totals) {
      OpTotals& total = totals[op];
      total.calls += more.calls;
      total.flops += more.flops;
      total.bytes += more.bytes;
      total.seconds += more.seconds;
    }
    fp8_codes_used += other.fp8_codes_used;
  }
};

/// The op that was put on the device last.
struct LastOp {
  std::string_view name;  ///< empty before the first
  std::string layer;      ///< that it lies in; empty where it lies in none
};

/// Sees every named tensor right after it was computed: "layers.0.attention.qkv", its values.
using Observer = std::function<void(std::string_view name, const Tensor& tensor)>;

class Executor {
 public:
  Executor(const Backend& backend, Memory& memory)
      : backend_(&backend), memory_(&memory), ranges_(memory.planning() ? nullptr : backend.device().ranges()) {}

  template <typename Op>
  void operator()(const Op& op) {
    backend_->require<Op>();  // in a dry run too, so that a missing op is an error before the first step
    OpTotals& totals = counts_.totals[Op::name];
    totals.calls += 1;
    totals.flops += op.flops();
    totals.bytes += op.bytes();
    if constexpr (requires { op.is_fp8(); }) {
      if (op.is_fp8()) counts_.fp8_codes_used += static_cast<std::uint64_t>(op.operand_elements());
    }
    const std::size_t scratch_bytes = backend_->workspace_bytes(op);
    Buffer scratch;
    if (scratch_bytes > 0) {
      // One row of floats: large enough for any count of bytes that a plan can hold.
      const auto floats = static_cast<std::int64_t>((scratch_bytes + sizeof(float) - 1) / sizeof(float));
      scratch = memory_->allocate(Op::name, DType::f32, 1, floats, MemoryClass::workspace);
    }
    if (memory_->planning()) {  // a dry run finds out what the device cannot do
      if (const char* reason = backend_->refusal(op))
        throw UserError("{} cannot run {}: {}", backend_->name(), Op::name, reason);
      return;
    }
    const Workspace workspace =
        scratch ? Workspace(static_cast<std::byte*>(scratch.tensor().raw()), scratch.tensor().bytes()) : Workspace();
    put_on_device(Op::name);
    const octet::gpu::ScopedRange range(ranges_, Op::name);
    if (runs_behind()) {
      run_in_order(op, workspace);
    } else {
      run_at_once(op, workspace, totals);
    }
  }

  [[nodiscard]] Memory& memory() const { return *memory_; }
  [[nodiscard]] const Backend& backend() const { return *backend_; }

  /// Called by the model after each op whose result has a name worth reporting. Free where nobody watches.
  void observe(std::string_view name, const Tensor& tensor) const {
    if (tracer_ != nullptr) tracer_->on_result(name);
    if (observed()) observer_(name, tensor);
  }
  /// Whether anybody sees what is named: who computes a result for nobody else may ask.
  [[nodiscard]] bool observed() const { return observer_ && !memory_->planning(); }
  void set_observer(Observer observer) { observer_ = std::move(observer); }

  /// Who hears of every op from here on; null: nobody. Waits for a device that runs behind the host, to find out where
  /// its clock stands; such a device's times are told by settle_times().
  void set_tracer(Tracer* tracer);
  /// Scopes that a tracer and a profiler outside see ops in: `const auto span = run.phase("forward");`.
  [[nodiscard]] Span phase(std::string_view name) const { return {tracer_, ranges_, SpanKind::phase, name}; }
  [[nodiscard]] Span layer(std::string_view name) { return {tracer_, ranges_, SpanKind::layer, name, &layer_}; }
  /// A scope in which the host waits for the device, as reading a result does; nothing where ops are done when they
  /// return.
  [[nodiscard]] Span waiting() const {
    if (!runs_behind()) return {nullptr, nullptr, SpanKind::wait, {}};
    return {tracer_, ranges_, SpanKind::wait, "wait for the device"};
  }
  /// Waits for all ops that were run.
  void wait() const {
    const Span span = waiting();
    backend_->device().finish();
  }

  /// What is put on the device next, where a fault may have to be named: an op, or ops that are replayed at once.
  void put_on_device(std::string_view what) {
    last_op_.name = what;
    last_op_.layer = layer_;
  }
  /// Where a DeviceFault came to light. It lies there if ops are waited for, else there or before.
  [[nodiscard]] const LastOp& last_op() const { return last_op_; }
  /// From here on a device that runs behind the host is waited for after each op.
  void wait_for_each_op() { waits_ = true; }
  [[nodiscard]] bool waits_for_each_op() const { return waits_; }

  /// From here on ops of a device that runs behind the host are timed too, which costs it two marks an op; or only
  /// while a tracer listens. Returns what was before.
  bool time_ops(bool always = true) { return std::exchange(times_ops_, always); }
  /// Where ops were timed since the last call: waits, adds their times to the totals, and tells the tracer.
  void settle_times();

  /// Whether anybody sees, times or waits for single ops, which therefore must be run one by one.
  [[nodiscard]] bool is_watched() const { return tracer_ != nullptr || observer_ || times_ops_ || waits_; }

  [[nodiscard]] const std::map<std::string_view, OpTotals>& totals() const { return counts_.totals; }
  void reset_totals() {
    settle_times();
    counts_.totals.clear();
  }
  /// FP8 codes that products have read so far: zero after a run in an FP8 recipe means that the recipe did nothing.
  [[nodiscard]] std::uint64_t fp8_codes_used() const { return counts_.fp8_codes_used; }
  /// All counts so far, which begin anew.
  [[nodiscard]] OpCounts take_counts() { return std::exchange(counts_, {}); }
  /// Ops that were run in another way.
  void add_counts(const OpCounts& counts) { counts_.add(counts); }

 private:
  struct Timed {
    std::string_view op;
    std::int64_t from, to;
  };

  [[nodiscard]] bool runs_behind() const { return !backend_->device().host_memory(); }

  template <typename Op>
  void run_at_once(const Op& op, Workspace workspace, OpTotals& totals) {
    const TraceClock::time_point begin = TraceClock::now();
    backend_->run(op, workspace);
    const TraceClock::time_point end = TraceClock::now();
    totals.seconds += std::chrono::duration<double>(end - begin).count();
    tell_tracer(op, {begin, end});
  }

  template <typename Op>
  void run_in_order(const Op& op, Workspace workspace) {
    const bool timed = times_ops_ || tracer_ != nullptr;
    const TraceClock::time_point begin = TraceClock::now();
    const std::int64_t from = timed ? backend_->device().mark() : 0;
    backend_->run(op, workspace);
    if (timed) {
      timed_.push_back({Op::name, from, backend_->device().mark()});
      tell_tracer(op, {begin, TraceClock::now()});
    }
    if (waits_) backend_->device().finish();
  }

  template <typename Op>
  void tell_tracer(const Op& op, const TraceInterval& on_host) const {
    if (tracer_ == nullptr) return;
    tracer_->on_op({Op::name, extents_of(op), types_of(op), op.flops(), op.bytes(), on_host, memory_->bytes_in_use()});
  }

  void match_clocks();

  const Backend* backend_;
  Memory* memory_;
  Observer observer_;
  Tracer* tracer_ = nullptr;
  octet::gpu::Ranges* ranges_;        ///< null where no profiler listens
  std::optional<DeviceClock> clock_;  ///< while a tracer listens to a device that runs behind the host
  OpCounts counts_;
  std::string_view layer_;  ///< the innermost that is being run
  LastOp last_op_;
  bool times_ops_ = false;
  bool waits_ = false;
  std::vector<Timed> timed_;
};

}  // namespace octet::ops
