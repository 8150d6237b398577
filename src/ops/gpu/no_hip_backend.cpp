// Stands in for the HIP backend in a build without it.
#include "core/error.h"
#include "ops/gpu/gpu_backend.h"

namespace octet::ops {

namespace {
constexpr const char* kNoHip = "built without HIP: build where clang 20 or newer and lld are found";
}

GpuSurvey survey_hip_devices() {
  return {{}, kNoHip, {}};
}

std::unique_ptr<Backend> make_hip_backend(int, const GpuOptions&) {
  throw UserError("this octet was {}, or run on the CPU", kNoHip);
}

}  // namespace octet::ops
