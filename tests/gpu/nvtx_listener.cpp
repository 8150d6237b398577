// A library that NVTX loads in a profiler's place, by the contract of NVTX's headers. It writes down what it is told.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <string>

namespace {

std::string& written() {
  static std::string text;
  return text;
}

nvtxDomainHandle_t create_domain(const char* name) {
  written() += name;
  return reinterpret_cast<nvtxDomainHandle_t>(&written());  // any address but null
}

void destroy_domain(nvtxDomainHandle_t /*domain*/) {
  written() += ".";
}

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  const bool known = domain == reinterpret_cast<nvtxDomainHandle_t>(&written()) &&
                     range->messageType == NVTX_MESSAGE_TYPE_ASCII && range->size == NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  written() += known ? std::string("<") + range->message.ascii : "<?";
  return 0;
}

int pop(nvtxDomainHandle_t /*domain*/) {
  written() += ">";
  return 0;
}

template <typename Function>
void take(NvtxFunctionTable table, NvtxCallbackIdCore2 which, Function* function) {
  *table[which] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" {

/// Called by NVTX. Returns whether it listens.
[[gnu::visibility("default")]] int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  take(table, NVTX_CBID_CORE2_DomainCreateA, &create_domain);
  take(table, NVTX_CBID_CORE2_DomainDestroy, &destroy_domain);
  take(table, NVTX_CBID_CORE2_DomainRangePushEx, &push);
  take(table, NVTX_CBID_CORE2_DomainRangePop, &pop);
  return 1;
}

/// What was heard so far: "octet<a<b>>.".
[[gnu::visibility("default")]] const char* nvtx_heard() {
  return written().c_str();
}

}  // extern "C"
