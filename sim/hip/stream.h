// Streams, events, and captures of streams into graphs. Work that is put on a stream is executed before the call
// returns, unless the stream captures: then it becomes a node.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "sim/hip/abi.h"
#include "sim/hip/device.h"
#include "sim/hip/graph.h"
#include "sim/hip/work.h"

namespace octet::sim::hip {

/// One capture, by the stream in which it began and those that joined it through events.
struct Capture {
  unsigned long long id;
  hipStreamCaptureMode mode;
  std::thread::id thread;  ///< that began it
  hipStream_t origin;
  std::vector<hipStream_t> streams;  ///< origin among them
  bool valid = true;
  std::unique_ptr<ihipGraph> graph;
};

}  // namespace octet::sim::hip

struct ihipStream_t {
  octet::sim::hip::Device& device;
  unsigned flags = hipStreamDefault;
  std::shared_ptr<octet::sim::hip::Capture> capture = nullptr;  // while it captures
  std::vector<hipGraphNode_t> last = {};                        // what a node that it captures next waits for
};

struct ihipEvent_t {
  octet::sim::hip::Device& device;
  unsigned flags = hipEventDefault;
  std::optional<std::chrono::steady_clock::time_point> time = std::nullopt;  // when it was recorded outside of captures
  std::weak_ptr<octet::sim::hip::Capture> capture = {};  // in which it was recorded last; expired once that ended
  std::vector<hipGraphNode_t> nodes = {};                // what a stream that waits for it waits for, in that capture
};

namespace octet::sim::hip {

/// Executes the work now, or captures it. HipError as execute(), when the stream's capture is not valid, and as
/// forbid_default_stream() says.
void submit(Runtime& runtime, ihipStream_t& stream, Work work);

/// Work on a device's default stream waits for all its streams but those made not to. HipError when one of these
/// captures, and the capture is invalid.
void forbid_default_stream(Runtime& runtime, const Device& device);

/// For calls that no capture can hold and that disturb one: they invalidate captures in global mode of any thread, and
/// in thread-local mode of this one. HipError when there was such a capture.
void forbid_during_capture(Runtime& runtime);

/// HipError, and the stream's capture is invalid, when it captures.
void forbid_while_capturing(const ihipStream_t& stream);

void begin_capture(Runtime& runtime, ihipStream_t& stream, hipStreamCaptureMode mode);

/// HipError when the stream does not capture, the capture began in another stream or thread, was invalidated, or lacks
/// a join; but for the first two it ends all the same.
[[nodiscard]] std::unique_ptr<ihipGraph> end_capture(Runtime& runtime, ihipStream_t& stream);

/// Ends it without a graph.
void abandon(Runtime& runtime, const std::shared_ptr<Capture>& capture);

void record(ihipEvent_t& event, ihipStream_t& stream);

/// Joins the event's capture, or does nothing outside of captures: what the event stands for is done. HipError when two
/// captures would become one, or a capture would depend on what is outside of it.
void wait_for(Runtime& runtime, ihipStream_t& stream, const ihipEvent_t& event);

}  // namespace octet::sim::hip
