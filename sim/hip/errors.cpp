#include "sim/hip/errors.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

namespace octet::sim::hip {
namespace {

struct Row {
  hipError_t code;
  const char* name;
  const char* text;
};

constexpr std::array kRows = std::to_array<Row>({
    {hipSuccess, "hipSuccess", "success"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "an argument is not valid"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "the device has not enough free memory"},
    {hipErrorNotInitialized, "hipErrorNotInitialized", "the runtime could not be initialized"},
    {hipErrorDeinitialized, "hipErrorDeinitialized", "the process is ending"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration", "the launch configuration is not valid"},
    {hipErrorInvalidPitchValue, "hipErrorInvalidPitchValue", "a pitch is less than the width of a row"},
    {hipErrorInvalidMemcpyDirection, "hipErrorInvalidMemcpyDirection", "there is no such direction of a copy"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "the function is none of a loaded module"},
    {hipErrorNoDevice, "hipErrorNoDevice", "there is no device"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "there is no device of this number"},
    {hipErrorInvalidImage, "hipErrorInvalidImage", "the image is no valid code object"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu", "the image has no code for this device"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "the file cannot be read"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "the handle is not valid"},
    {hipErrorIllegalState, "hipErrorIllegalState", "the call does not fit the present state"},
    {hipErrorNotFound, "hipErrorNotFound", "the module has no symbol of this name"},
    {hipErrorNotReady, "hipErrorNotReady", "work is not done yet"},
    {hipErrorIllegalAddress, "hipErrorIllegalAddress", "a kernel accessed memory that is not allocated"},
    {hipErrorContextIsDestroyed, "hipErrorContextIsDestroyed", "the stream or event does not exist any more"},
    {hipErrorHostMemoryAlreadyRegistered, "hipErrorHostMemoryAlreadyRegistered", "the host memory is registered"},
    {hipErrorHostMemoryNotRegistered, "hipErrorHostMemoryNotRegistered", "the host memory is not registered"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure", "a kernel failed"},
    {hipErrorNotSupported, "hipErrorNotSupported", "the simulator does not support this"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported", "not permitted while a stream captures"},
    {hipErrorStreamCaptureInvalidated, "hipErrorStreamCaptureInvalidated", "an earlier error invalidated the capture"},
    {hipErrorStreamCaptureMerge, "hipErrorStreamCaptureMerge", "two captures would become one"},
    {hipErrorStreamCaptureUnmatched, "hipErrorStreamCaptureUnmatched", "the capture began in another stream"},
    {hipErrorStreamCaptureUnjoined, "hipErrorStreamCaptureUnjoined", "work of another stream was not joined"},
    {hipErrorStreamCaptureIsolation, "hipErrorStreamCaptureIsolation", "captured work would wait for work that is not"},
    {hipErrorStreamCaptureImplicit, "hipErrorStreamCaptureImplicit", "the default stream would wait for a capture"},
    {hipErrorCapturedEvent, "hipErrorCapturedEvent", "the event was recorded in a capture"},
    {hipErrorStreamCaptureWrongThread, "hipErrorStreamCaptureWrongThread", "the capture began in another thread"},
    {hipErrorGraphExecUpdateFailure, "hipErrorGraphExecUpdateFailure", "the graph differs from the executable one"},
    {hipErrorUnknown, "hipErrorUnknown", "unknown error"},
});

const Row* find(hipError_t code) {
  const auto* const found = std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.code == code; });
  return found == kRows.end() ? nullptr : found;
}

}  // namespace

std::optional<const char*> error_name(hipError_t code) {
  const Row* row = find(code);
  return row == nullptr ? std::nullopt : std::optional(row->name);
}

std::optional<const char*> error_text(hipError_t code) {
  const Row* row = find(code);
  return row == nullptr ? std::nullopt : std::optional(row->text);
}

void report(const std::string& message, const std::optional<std::filesystem::path>& file) {
  fmt::print(stderr, "cdna-sim: {}\n", message);
  if (!file) return;
  std::ofstream stream(*file, std::ios::app);
  stream << message << '\n';
}

}  // namespace octet::sim::hip
