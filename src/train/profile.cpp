#include "train/profile.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/files.h"

namespace octet {
namespace {

using nlohmann::ordered_json;
using ops::SpanKind;
using ops::TraceClock;
using ops::TraceInterval;

/// Tracks of the one process there is, as viewers number threads.
constexpr int kHost = 1;
constexpr int kDevice = 2;

double microseconds(TraceClock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

std::string_view category(SpanKind kind) {
  switch (kind) {
    case SpanKind::phase:
      return "phase";
    case SpanKind::layer:
      return "layer";
    case SpanKind::wait:
      return "wait";
  }
  return "unknown";
}

ordered_json rate(double amount, double seconds) {
  return seconds > 0 ? ordered_json(amount / seconds / 1e9) : ordered_json(nullptr);
}

/// What helps to find an op of the other track.
ordered_json place_of(const std::string& layer, const std::string& result) {
  ordered_json arguments = ordered_json::object();
  if (!layer.empty()) arguments["layer"] = layer;
  if (!result.empty()) arguments["result"] = result;
  return arguments;
}

/// Everything that is known of an op which ran at `time`.
ordered_json arguments_of(const ops::TracedOp& op, const TraceInterval& time, ordered_json arguments) {
  for (const auto& [name, value] : op.extents) arguments[std::string(name)] = value;
  if (!op.types.empty()) arguments["types"] = op.types;
  const double seconds = std::chrono::duration<double>(time.end - time.begin).count();
  arguments["flops"] = op.flops;
  arguments["bytes_moved"] = op.bytes;
  arguments["gflops_per_second"] = rate(op.flops, seconds);
  arguments["gbytes_per_second"] = rate(op.bytes, seconds);
  return arguments;
}

/// The events as they are written.
class EventWriter {
 public:
  explicit EventWriter(TraceClock::time_point start) : start_(start) {}

  void name(std::string_view what, std::string_view name, int track) {
    add(what, "M", track, 0)["args"] = {{"name", name}};
  }
  void complete(std::string_view name, std::string_view category, int track, const TraceInterval& time,
                ordered_json arguments = nullptr) {
    ordered_json& event = add(name, "X", track, microseconds(time.begin - start_));
    event["dur"] = microseconds(time.end - time.begin);
    event["cat"] = category;
    if (!arguments.is_null()) event["args"] = std::move(arguments);
  }
  void memory(TraceClock::time_point time, std::size_t bytes) {
    add("planned memory in use", "C", kHost, microseconds(time - start_))["args"] = {{"bytes", bytes}};
  }

  [[nodiscard]] ordered_json take() { return std::move(events_); }

 private:
  /// What viewers need of every event.
  ordered_json& add(std::string_view name, std::string_view phase, int track, double timestamp) {
    events_.push_back({{"name", name}, {"ph", phase}, {"ts", timestamp}, {"pid", 1}, {"tid", track}});
    return events_.back();
  }

  TraceClock::time_point start_;
  ordered_json events_ = ordered_json::array();
};

}  // namespace

std::string Profile::enclosing_layer() const {
  for (auto index = open_spans_.rbegin(); index != open_spans_.rend(); ++index) {
    const auto& span = std::get<SpanEvent>(events_[*index]);
    if (span.kind == SpanKind::layer) return span.name;
  }
  return {};
}

void Profile::on_op(ops::TracedOp op) {
  events_.push_back(OpEvent{std::move(op), enclosing_layer(), {}, {}});
}

void Profile::on_device_times(std::span<const TraceInterval> times) {
  has_device_ = true;
  for (const TraceInterval& time : times) {
    while (first_untimed_ < events_.size() && !std::holds_alternative<OpEvent>(events_[first_untimed_]))
      ++first_untimed_;
    check(first_untimed_ < events_.size(), "each time is an op's");
    std::get<OpEvent>(events_[first_untimed_++]).on_device = time;
  }
}

void Profile::on_result(std::string_view name) {
  for (; first_unnamed_ < events_.size(); ++first_unnamed_) {
    auto& event = std::get<OpEvent>(events_[first_unnamed_]);
    event.layer = name.substr(0, name.rfind('.'));
    event.result = name;
  }
}

void Profile::begin_span(SpanKind kind, std::string_view name) {
  open_spans_.push_back(events_.size());
  events_.push_back(SpanEvent{kind, std::string(name), {TraceClock::now(), {}}, 0});
  first_unnamed_ = events_.size();
}

void Profile::end_span() {
  auto& span = std::get<SpanEvent>(events_[open_spans_.back()]);
  span.on_host.end = TraceClock::now();
  span.last = events_.size() - 1;
  open_spans_.pop_back();
  first_unnamed_ = events_.size();
}

/// From the first op in the span to the last; nothing where the device ran none.
std::optional<TraceInterval> Profile::device_time_of(std::size_t span) const {
  std::optional<TraceInterval> whole;
  for (std::size_t i = span + 1; i <= std::get<SpanEvent>(events_[span]).last; ++i) {
    const auto* op = std::get_if<OpEvent>(&events_[i]);
    if (op == nullptr || !op->on_device) continue;
    if (!whole) whole = op->on_device;
    whole->end = op->on_device->end;
  }
  return whole;
}

std::string Profile::json() const {
  EventWriter writer(events_.empty() ? TraceClock::time_point() : std::get<SpanEvent>(events_.front()).on_host.begin);
  writer.name("process_name", "octet", kHost);
  writer.name("thread_name", has_device_ ? "host" : "ops", kHost);
  if (has_device_) writer.name("thread_name", "device", kDevice);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (const auto* span = std::get_if<SpanEvent>(&events_[i])) {
      writer.complete(span->name, category(span->kind), kHost, span->on_host);
      if (const auto time = device_time_of(i)) writer.complete(span->name, category(span->kind), kDevice, *time);
      continue;
    }
    const auto& [op, layer, result, on_device] = std::get<OpEvent>(events_[i]);
    if (has_device_) writer.complete(op.name, "enqueue", kHost, op.on_host, place_of(layer, result));
    if (has_device_ && !on_device) continue;
    const TraceInterval& time = on_device ? *on_device : op.on_host;
    writer.complete(op.name, "op", has_device_ ? kDevice : kHost, time,
                    arguments_of(op, time, place_of(layer, result)));
    writer.memory(time.begin, op.arena_bytes);
  }
  return ordered_json({{"displayTimeUnit", "ms"}, {"traceEvents", writer.take()}}).dump() + "\n";
}

void Profile::write(const std::filesystem::path& path) const {
  write_file_atomically(path, json());
}

}  // namespace octet
