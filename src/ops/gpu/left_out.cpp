// Stands in for the CUDA backend in a build without it.
#include "core/error.h"
#include "ops/gpu/gpu_backend.h"

namespace octet::ops {

std::unique_ptr<Backend> make_cuda_backend(int) {
  throw UserError("this octet was built without CUDA: build it where nvcc 12.4 or newer is found, or run on the CPU");
}

}  // namespace octet::ops
