#include "sim/hip/stream.h"

#include <algorithm>
#include <utility>

#include "sim/hip/errors.h"
#include "sim/hip/runtime.h"

namespace octet::sim::hip {
namespace {

void join(ihipStream_t& stream, const std::shared_ptr<Capture>& capture) {
  stream.capture = capture;
  capture->streams.push_back(&stream);
}

/// Every node must be waited for by the stream in which the capture began, at its end.
bool all_joined(const Capture& capture) {
  const std::vector<const hipGraphNode*> ends = leaves(*capture.graph);
  const std::vector<hipGraphNode_t>& last = capture.origin->last;
  return std::all_of(ends.begin(), ends.end(),
                     [&](const hipGraphNode* node) { return std::find(last.begin(), last.end(), node) != last.end(); });
}

}  // namespace

void submit(Runtime& runtime, ihipStream_t& stream, Work work) {
  if (stream.capture == nullptr) {
    if (runtime.is_default(stream)) forbid_default_stream(runtime, stream.device);
    return execute(runtime, work);
  }
  require(stream.capture->valid, hipErrorStreamCaptureInvalidated);
  check_work(runtime, work);
  stream.last = {add_node(*stream.capture->graph, std::move(work), stream.last)};
}

void forbid_default_stream(Runtime& runtime, const Device& device) {
  bool found = false;
  for (const auto& capture : runtime.captures) {
    for (const hipStream_t capturing : capture->streams) {
      if (&capturing->device != &device || capturing->flags == hipStreamNonBlocking) continue;
      capture->valid = false;
      found = true;
    }
  }
  require(!found, hipErrorStreamCaptureImplicit);
}

void forbid_during_capture(Runtime& runtime) {
  bool found = false;
  for (const auto& capture : runtime.captures) {
    const bool mine = capture->mode == hipStreamCaptureModeThreadLocal && capture->thread == std::this_thread::get_id();
    if (capture->mode != hipStreamCaptureModeGlobal && !mine) continue;
    capture->valid = false;
    found = true;
  }
  require(!found, hipErrorStreamCaptureUnsupported);
}

void forbid_while_capturing(const ihipStream_t& stream) {
  if (stream.capture == nullptr) return;
  stream.capture->valid = false;
  throw HipError(hipErrorStreamCaptureUnsupported);
}

void begin_capture(Runtime& runtime, ihipStream_t& stream, hipStreamCaptureMode mode) {
  require(mode <= hipStreamCaptureModeRelaxed, hipErrorInvalidValue);
  require(!runtime.is_default(stream), hipErrorStreamCaptureUnsupported);
  require(stream.capture == nullptr, hipErrorIllegalState);
  const auto capture = std::make_shared<Capture>(Capture{
      ++runtime.captures_begun, mode, std::this_thread::get_id(), &stream, {}, true, std::make_unique<ihipGraph>()});
  join(stream, capture);
  runtime.captures.push_back(capture);
}

std::unique_ptr<ihipGraph> end_capture(Runtime& runtime, ihipStream_t& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  require(capture != nullptr, hipErrorIllegalState);
  require(capture->origin == &stream, hipErrorStreamCaptureUnmatched);
  const bool is_mine = capture->mode == hipStreamCaptureModeRelaxed || capture->thread == std::this_thread::get_id();
  const bool joined = all_joined(*capture);
  abandon(runtime, capture);
  require(is_mine, hipErrorStreamCaptureWrongThread);
  require(capture->valid, hipErrorStreamCaptureInvalidated);
  require(joined, hipErrorStreamCaptureUnjoined);
  return std::move(capture->graph);
}

void abandon(Runtime& runtime, const std::shared_ptr<Capture>& capture) {
  for (const hipStream_t stream : capture->streams) {
    stream->capture = nullptr;
    stream->last.clear();
  }
  std::erase(runtime.captures, capture);
}

void record(ihipEvent_t& event, ihipStream_t& stream) {
  event.capture = stream.capture;
  event.nodes = stream.last;
  event.time.reset();
  if (stream.capture != nullptr) return require(stream.capture->valid, hipErrorStreamCaptureInvalidated);
  require(&event.device == &stream.device, hipErrorInvalidHandle);
  event.time = std::chrono::steady_clock::now();
}

void wait_for(Runtime& runtime, ihipStream_t& stream, const ihipEvent_t& event) {
  const std::shared_ptr<Capture> capture = event.capture.lock();
  if (capture == nullptr) {
    if (stream.capture == nullptr || !event.time) return;
    stream.capture->valid = false;
    throw HipError(hipErrorStreamCaptureIsolation);
  }
  if (runtime.is_default(stream)) {
    capture->valid = false;
    throw HipError(hipErrorStreamCaptureImplicit);
  }
  if (stream.capture == nullptr) {
    join(stream, capture);
  } else if (stream.capture != capture) {
    stream.capture->valid = false;
    capture->valid = false;
    throw HipError(hipErrorStreamCaptureMerge);
  }
  require(capture->valid, hipErrorStreamCaptureInvalidated);
  for (const hipGraphNode_t node : event.nodes) {
    if (std::find(stream.last.begin(), stream.last.end(), node) == stream.last.end()) stream.last.push_back(node);
  }
}

}  // namespace octet::sim::hip
