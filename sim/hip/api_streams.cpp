// Exported functions: streams and events. What was put on a stream has been executed already, so that nothing waits;
// what waits in HIP is where a kernel's fault comes to light.
#include <algorithm>
#include <array>

#include "sim/hip/api.h"
#include "sim/hip/errors.h"
#include "sim/hip/process.h"
#include "sim/hip/runtime.h"

using namespace octet::sim::hip;

namespace {

hipError_t create_stream(hipStream_t* stream, unsigned flags) {
  return answer([&](Runtime& runtime) {
    require(stream != nullptr, hipErrorInvalidValue);
    require(flags == hipStreamDefault || flags == hipStreamNonBlocking, hipErrorInvalidValue);
    *stream = runtime.streams.add(std::make_unique<ihipStream_t>(ihipStream_t{runtime.current_device(), flags}));
  });
}

/// One way to release what the host shall see may be asked for at most.
bool are_event_flags(unsigned flags) {
  constexpr std::array kReleases{hipEventDisableSystemFence, hipEventReleaseToDevice, hipEventReleaseToSystem};
  unsigned known = hipEventBlockingSync | hipEventDisableTiming;
  for (const unsigned release : kReleases) known |= release;
  const auto releases =
      std::count_if(kReleases.begin(), kReleases.end(), [&](unsigned release) { return (flags & release) != 0; });
  return (flags & ~known) == 0 && releases <= 1;
}

/// HipError for an event that stands for a place in a capture that is still under way.
ihipEvent_t& recorded_event(Runtime& runtime, hipEvent_t handle) {
  ihipEvent_t& event = runtime.event(handle);
  if (const auto capture = event.capture.lock()) {
    capture->valid = false;
    throw HipError(hipErrorCapturedEvent);
  }
  return event;
}

}  // namespace

hipError_t hipStreamCreate(hipStream_t* stream) {
  return create_stream(stream, hipStreamDefault);
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return create_stream(stream, flags);
}

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int /*priority*/) {
  return create_stream(stream, flags);  // priorities mean nothing where nothing runs at once
}

hipError_t hipStreamDestroy(hipStream_t stream) {
  return answer([&](Runtime& runtime) {
    require(stream != nullptr, hipErrorInvalidHandle);
    require(runtime.streams.holds(stream), hipErrorContextIsDestroyed);
    runtime.destroy(stream);
  });
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  return answer([&](Runtime& runtime) { forbid_while_capturing(runtime.stream(stream)); });
}

hipError_t hipStreamQuery(hipStream_t stream) {
  return hipStreamSynchronize(stream);  // all is done
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return answer([&](Runtime& runtime) {
    require(flags == 0, hipErrorInvalidValue);
    wait_for(runtime, runtime.stream(stream), runtime.event(event));
  });
}

hipError_t hipEventCreate(hipEvent_t* event) {
  return hipEventCreateWithFlags(event, hipEventDefault);
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return answer([&](Runtime& runtime) {
    require(event != nullptr && are_event_flags(flags), hipErrorInvalidValue);
    *event = runtime.events.add(std::make_unique<ihipEvent_t>(ihipEvent_t{runtime.current_device(), flags}));
  });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return answer([&](Runtime& runtime) { record(runtime.event(event), runtime.stream(stream)); });
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return answer([&](Runtime& runtime) { static_cast<void>(recorded_event(runtime, event)); });
}

hipError_t hipEventQuery(hipEvent_t event) {
  return hipEventSynchronize(event);
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return answer([&](Runtime& runtime) {
    require(milliseconds != nullptr, hipErrorInvalidValue);
    const ihipEvent_t& first = recorded_event(runtime, start);
    const ihipEvent_t& second = recorded_event(runtime, stop);
    require(&first.device == &second.device && first.time && second.time, hipErrorInvalidHandle);
    require(((first.flags | second.flags) & hipEventDisableTiming) == 0, hipErrorInvalidHandle);
    *milliseconds = std::chrono::duration<float, std::milli>(*second.time - *first.time).count();
  });
}

hipError_t hipEventDestroy(hipEvent_t event) {
  return answer([&](Runtime& runtime) {
    require(event != nullptr, hipErrorInvalidHandle);
    require(runtime.events.holds(event), hipErrorContextIsDestroyed);
    runtime.events.remove(event);
  });
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data) {
  return answer([&](Runtime& runtime) { submit(runtime, runtime.stream(stream), HostWork{function, data}); });
}
