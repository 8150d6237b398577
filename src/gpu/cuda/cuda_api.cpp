#include "gpu/cuda/cuda_api.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "gpu/cuda/kernel_images.h"

namespace octet::gpu {
namespace {

/// A driver runs machine code of its own major version, whatever the minor one; before 12.4 functions are missing that
/// we call.
struct OldestDriver {
  int version;
  const char* release;  ///< NVIDIA's first of that version
};
constexpr OldestDriver kOldestDriver =
    CUDA_VERSION < 13000 ? OldestDriver{12040, "550.54.14"} : OldestDriver{13000, "580.65.06"};

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// By itself, since an older driver lacks functions that CudaApi wants.
void check_version(const DynamicLibrary& library) {
  decltype(&cuDriverGetVersion) get_version = nullptr;
  library.bind("cuDriverGetVersion", get_version);
  int version = 0;
  if (get_version(&version) != CUDA_SUCCESS) throw UserError("{} does not tell its version", library.path());
  if (version >= kOldestDriver.version) return;
  throw UserError(
      "{} is of CUDA {}, and the kernels need {} or newer: update NVIDIA's driver to {} or newer, or run on the CPU",
      library.path(), version_text(version), version_text(kOldestDriver.version), kOldestDriver.release);
}

std::string no_gpu(const CudaApi& api) {
  constexpr const char* kVariable = "CUDA_VISIBLE_DEVICES";
  const char* visible = std::getenv(kVariable);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const std::string why = visible != nullptr
                              ? fmt::format("{} is \"{}\", which may hide it", kVariable, visible)
                              : "nvidia-smi shows those of this machine, and a container must be started with them";
  return fmt::format("{} sees no GPU: {}; or run on the CPU", api.library.path(), why);
}

const char* remedy(CUresult result) {
  switch (result) {
    case CUDA_ERROR_STUB_LIBRARY:
      return "it is the toolkit's stub: put the driver's own directory first in LD_LIBRARY_PATH";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return "the kernel's module is of another version: load the new one, or restart the machine";
    case CUDA_ERROR_SYSTEM_NOT_READY:
      return "start nvidia-fabricmanager, or wait until it has started";
    default:
      return "see whether nvidia-smi works, and look into dmesg";
  }
}

}  // namespace

CudaApi::CudaApi(DynamicLibrary found) : library(std::move(found)) {
  const auto bind = [this](const char* symbol, auto& function) { library.bind(symbol, function); };
  bind("cuInit", init);
  bind("cuDriverGetVersion", driver_get_version);
  bind("cuGetErrorName", get_error_name);
  bind("cuGetErrorString", get_error_string);
  bind("cuDeviceGetCount", device_get_count);
  bind("cuDeviceGet", device_get);
  bind("cuDeviceGetName", device_get_name);
  bind("cuDeviceGetAttribute", device_get_attribute);
  bind("cuDeviceTotalMem_v2", device_total_mem);
  bind("cuDevicePrimaryCtxRetain", primary_context_retain);
  bind("cuDevicePrimaryCtxRelease_v2", primary_context_release);
  bind("cuCtxSetCurrent", context_set_current);
  bind("cuMemGetInfo_v2", mem_get_info);
  bind("cuMemAlloc_v2", mem_alloc);
  bind("cuMemAllocManaged", mem_alloc_managed);
  bind("cuMemFree_v2", mem_free);
  bind("cuMemcpyHtoDAsync_v2", memcpy_to_device);
  bind("cuMemcpyDtoHAsync_v2", memcpy_to_host);
  bind("cuMemcpyDtoDAsync_v2", memcpy_on_device);
  bind("cuMemsetD8Async", memset_bytes);
  bind("cuModuleLoadData", module_load);
  bind("cuModuleUnload", module_unload);
  bind("cuModuleGetFunctionCount", module_get_function_count);
  bind("cuModuleEnumerateFunctions", module_enumerate_functions);
  bind("cuFuncGetName", function_get_name);
  bind("cuFuncSetAttribute", function_set_attribute);
  bind("cuLaunchKernelEx", launch_kernel);
  bind("cuTensorMapEncodeTiled", tensor_map_encode_tiled);
  bind("cuStreamCreate", stream_create);
  bind("cuStreamDestroy_v2", stream_destroy);
  bind("cuStreamSynchronize", stream_synchronize);
  bind("cuStreamBeginCapture_v2", begin_capture);
  bind("cuStreamEndCapture", end_capture);
  bind("cuGraphGetNodes", graph_get_nodes);
  bind("cuGraphInstantiateWithFlags", graph_instantiate);
  bind("cuGraphUpload", graph_upload);
  bind("cuGraphLaunch", graph_launch);
  bind("cuGraphExecDestroy", graph_exec_destroy);
  bind("cuGraphDestroy", graph_destroy);
  bind("cuEventCreate", event_create);
  bind("cuEventRecord", event_record);
  bind("cuEventSynchronize", event_synchronize);
  try {
    bind("cuEventElapsedTime_v2", event_elapsed);
  } catch (const UserError&) {  // the same function under the name that it had before CUDA 12.8
    bind("cuEventElapsedTime", event_elapsed);
  }
  bind("cuEventDestroy_v2", event_destroy);
}

std::string CudaApi::describe(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  get_error_name(result, &name);
  get_error_string(result, &text);
  return fmt::format("{} ({})", name == nullptr ? "unknown error" : name, text == nullptr ? "no text" : text);
}

std::shared_ptr<const CudaApi> load_cuda() {
  constexpr std::array<std::string_view, 2> kNames{"libcuda.so.1", "libcuda.so"};
  auto search = DynamicLibrary::find(kNames);
  if (!search.library) {
    throw UserError("{}: install NVIDIA's driver (in a container, start it with the GPU passed in), or run on the CPU",
                    search.problem);
  }
  check_version(*search.library);
  return std::make_shared<const CudaApi>(std::move(*search.library));
}

std::string driver_version(const CudaApi& api) {
  int version = 0;
  api.check_result(api.driver_get_version(&version), "asking for the driver's version");
  return version_text(version);
}

int count_gpus(const CudaApi& api) {
  const CUresult started = api.init(0);
  if (started == CUDA_ERROR_NO_DEVICE) throw UserError("{}", no_gpu(api));
  if (started != CUDA_SUCCESS) {
    throw UserError("{} does not start: {}: {}", api.library.path(), api.describe(started), remedy(started));
  }
  int count = 0;
  api.check_result(api.device_get_count(&count), "counting devices");
  if (count == 0) throw UserError("{}", no_gpu(api));
  return count;
}

DeviceFacts facts_of(const CudaApi& api, int index) {
  CUdevice device = 0;
  api.check_result(api.device_get(&device, index), "opening a device");
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    api.check_result(api.device_get_attribute(&value, which, device), "asking for an attribute");
    return value;
  };
  std::array<char, 256> name{};
  api.check_result(api.device_get_name(name.data(), static_cast<int>(name.size()), device), "asking for a name");
  std::size_t memory = 0;
  api.check_result(api.device_total_mem(&memory, device), "asking for the memory's size");
  return {.name = name.data(),
          .arch = fmt::format("sm_{}{}", attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                              attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)),
          .multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
          .warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
          .memory_bytes = memory,
          .l2_bytes = static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)),
          .shared_bytes = static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)),
          .barriers = 16,  // of every architecture; no attribute says so
          .copies_run_beside = true,
          .runtime = fmt::format("CUDA {}, {}", driver_version(api), api.library.path())};
}

std::string refusal_of(const DeviceFacts& facts) {
  if (facts.arch == kSupportedArch) return {};
  return fmt::format("{} ({}) is not supported: this octet runs on {}; take one of those, or run on the CPU",
                     facts.name, facts.arch, kSupportedGpus);
}

}  // namespace octet::gpu
