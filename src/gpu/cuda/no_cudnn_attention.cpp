// In the place of cudnn_attention.cpp, where the build had no headers of cudnn-frontend.
#include "gpu/attention.h"

namespace octet::gpu {
namespace {
constexpr const char* kProblem =
    "this octet was built without cuDNN: pip install --no-deps nvidia-cudnn-frontend, and build again";
}

FoundAttention find_cudnn_attention(const Driver& /*driver*/, bool /*deterministic*/) {
  return {nullptr, kProblem};
}

VendorLibrary survey_cudnn() {
  return {"cuDNN", {}, {}, kProblem};
}

}  // namespace octet::gpu
