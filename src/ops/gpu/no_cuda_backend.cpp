// Stands in for the CUDA backend in a build without it.
#include "core/error.h"
#include "ops/gpu/gpu_backend.h"

namespace octet::ops {

namespace {
constexpr const char* kNoCuda = "built without CUDA: build where nvcc 12.4 or newer is found";
}

GpuSurvey survey_cuda_devices() {
  return {{}, kNoCuda, {}};
}

std::unique_ptr<Backend> make_cuda_backend(int, const GpuOptions&) {
  throw UserError("this octet was {}, or run on the CPU", kNoCuda);
}

}  // namespace octet::ops
