// NVTX 3 is headers alone: at its first call it loads the library that NVTX_INJECTION64_PATH names, which profilers set
// in the processes that they start, and without one every call of it does nothing.
#include "gpu/cuda/nvtx_ranges.h"

#include <nvtx3/nvToolsExt.h>

#include <string>

namespace octet::gpu {
namespace {

class NvtxRanges final : public Ranges {
 public:
  explicit NvtxRanges(nvtxDomainHandle_t domain) : domain_(domain) {}
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;
  ~NvtxRanges() override { nvtxDomainDestroy(domain_); }

  void begin(std::string_view name) override {
    const std::string terminated(name);
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = terminated.c_str();
    nvtxDomainRangePushEx(domain_, &attributes);
  }
  void end() override { nvtxDomainRangePop(domain_); }

 private:
  nvtxDomainHandle_t domain_;
};

}  // namespace

std::unique_ptr<Ranges> find_nvtx_ranges() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("octet");  // null where nobody listens
  if (domain == nullptr) return nullptr;
  return std::make_unique<NvtxRanges>(domain);
}

}  // namespace octet::gpu
