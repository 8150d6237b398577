#include "train/profile.h"

#include <nlohmann/json.hpp>

#include "io/files.h"

namespace octet {
namespace {

using nlohmann::ordered_json;
using ops::TraceClock;

double microseconds(TraceClock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// What viewers need of every event: one process with one thread.
ordered_json event_of(std::string_view name, std::string_view phase, double timestamp) {
  return {{"name", name}, {"ph", phase}, {"ts", timestamp}, {"pid", 1}, {"tid", 1}};
}

ordered_json named(std::string_view what, std::string_view name) {
  ordered_json event = event_of(what, "M", 0);
  event["args"] = {{"name", name}};
  return event;
}

ordered_json rate(double amount, double seconds) {
  return seconds > 0 ? ordered_json(amount / seconds / 1e9) : ordered_json(nullptr);
}

ordered_json complete_event(std::string_view name, std::string_view category, double timestamp, double duration) {
  ordered_json event = event_of(name, "X", timestamp);
  event["dur"] = duration;
  event["cat"] = category;
  return event;
}

ordered_json arguments_of(const ops::TracedOp& op, const std::string& layer, const std::string& result) {
  ordered_json arguments = ordered_json::object();
  if (!layer.empty()) arguments["layer"] = layer;
  if (!result.empty()) arguments["result"] = result;
  for (const auto& [name, value] : op.extents) arguments[std::string(name)] = value;
  if (!op.types.empty()) arguments["types"] = op.types;
  const double seconds = std::chrono::duration<double>(op.end - op.begin).count();
  arguments["flops"] = op.flops;
  arguments["bytes_moved"] = op.bytes;
  arguments["gflops_per_second"] = rate(op.flops, seconds);
  arguments["gbytes_per_second"] = rate(op.bytes, seconds);
  return arguments;
}

}  // namespace

std::string Profile::enclosing_layer() const {
  for (auto index = open_spans_.rbegin(); index != open_spans_.rend(); ++index) {
    const auto& span = std::get<SpanEvent>(events_[*index]);
    if (span.kind == ops::SpanKind::layer) return span.name;
  }
  return {};
}

void Profile::on_op(ops::TracedOp op) {
  events_.push_back(OpEvent{std::move(op), enclosing_layer(), {}});
}

void Profile::on_result(std::string_view name) {
  for (; first_unnamed_ < events_.size(); ++first_unnamed_) {
    auto& event = std::get<OpEvent>(events_[first_unnamed_]);
    event.layer = name.substr(0, name.rfind('.'));
    event.result = name;
  }
}

void Profile::begin_span(ops::SpanKind kind, std::string_view name) {
  open_spans_.push_back(events_.size());
  events_.push_back(SpanEvent{kind, std::string(name), TraceClock::now(), {}});
  first_unnamed_ = events_.size();
}

void Profile::end_span() {
  std::get<SpanEvent>(events_[open_spans_.back()]).end = TraceClock::now();
  open_spans_.pop_back();
  first_unnamed_ = events_.size();
}

std::string Profile::json() const {
  ordered_json written = {named("process_name", "octet"), named("thread_name", "ops")};
  const TraceClock::time_point start =
      events_.empty() ? TraceClock::time_point() : std::get<SpanEvent>(events_.front()).begin;
  for (const Event& event : events_) {
    if (const auto* span = std::get_if<SpanEvent>(&event)) {
      written.push_back(complete_event(span->name, span->kind == ops::SpanKind::layer ? "layer" : "phase",
                                       microseconds(span->begin - start), microseconds(span->end - span->begin)));
      continue;
    }
    const auto& [op, layer, result] = std::get<OpEvent>(event);
    const double begin = microseconds(op.begin - start);
    written.push_back(complete_event(op.name, "op", begin, microseconds(op.end - op.begin)));
    written.back()["args"] = arguments_of(op, layer, result);
    written.push_back(event_of("planned memory in use", "C", begin));
    written.back()["args"] = {{"bytes", op.arena_bytes}};
  }
  return ordered_json({{"displayTimeUnit", "ms"}, {"traceEvents", std::move(written)}}).dump() + "\n";
}

void Profile::write(const std::filesystem::path& path) const {
  write_file_atomically(path, json());
}

}  // namespace octet
