// The functions of NVIDIA's driver that Octet calls, found when the program runs, and what is said where they fail.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>

#include "core/error.h"
#include "gpu/driver.h"
#include "gpu/dynamic_library.h"

namespace octet::gpu {

/// The functions of libcuda that we call, by their exported names.
struct CudaApi {
  DynamicLibrary library;
  decltype(&cuInit) init = nullptr;
  decltype(&cuDriverGetVersion) driver_get_version = nullptr;
  decltype(&cuGetErrorName) get_error_name = nullptr;
  decltype(&cuGetErrorString) get_error_string = nullptr;
  decltype(&cuDeviceGetCount) device_get_count = nullptr;
  decltype(&cuDeviceGet) device_get = nullptr;
  decltype(&cuDeviceGetName) device_get_name = nullptr;
  decltype(&cuDeviceGetAttribute) device_get_attribute = nullptr;
  decltype(&cuDeviceTotalMem) device_total_mem = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) primary_context_retain = nullptr;
  decltype(&cuDevicePrimaryCtxRelease) primary_context_release = nullptr;
  decltype(&cuCtxSetCurrent) context_set_current = nullptr;
  decltype(&cuMemGetInfo) mem_get_info = nullptr;
  decltype(&cuMemAlloc) mem_alloc = nullptr;
  decltype(&cuMemAllocManaged) mem_alloc_managed = nullptr;
  decltype(&cuMemFree) mem_free = nullptr;
  decltype(&cuMemcpyHtoDAsync) memcpy_to_device = nullptr;
  decltype(&cuMemcpyDtoHAsync) memcpy_to_host = nullptr;
  decltype(&cuMemcpyDtoDAsync) memcpy_on_device = nullptr;
  decltype(&cuMemsetD8Async) memset_bytes = nullptr;
  decltype(&cuModuleLoadData) module_load = nullptr;
  decltype(&cuModuleUnload) module_unload = nullptr;
  decltype(&cuModuleGetFunctionCount) module_get_function_count = nullptr;
  decltype(&cuModuleEnumerateFunctions) module_enumerate_functions = nullptr;
  decltype(&cuFuncGetName) function_get_name = nullptr;
  decltype(&cuFuncSetAttribute) function_set_attribute = nullptr;
  decltype(&cuLaunchKernelEx) launch_kernel = nullptr;
  decltype(&cuTensorMapEncodeTiled) tensor_map_encode_tiled = nullptr;
  decltype(&cuStreamCreate) stream_create = nullptr;
  decltype(&cuStreamDestroy) stream_destroy = nullptr;
  decltype(&cuStreamSynchronize) stream_synchronize = nullptr;
  decltype(&cuStreamBeginCapture) begin_capture = nullptr;
  decltype(&cuStreamEndCapture) end_capture = nullptr;
  decltype(&cuGraphGetNodes) graph_get_nodes = nullptr;
  decltype(&cuGraphInstantiateWithFlags) graph_instantiate = nullptr;
  decltype(&cuGraphUpload) graph_upload = nullptr;
  decltype(&cuGraphLaunch) graph_launch = nullptr;
  decltype(&cuGraphExecDestroy) graph_exec_destroy = nullptr;
  decltype(&cuGraphDestroy) graph_destroy = nullptr;
  decltype(&cuEventCreate) event_create = nullptr;
  decltype(&cuEventRecord) event_record = nullptr;
  decltype(&cuEventSynchronize) event_synchronize = nullptr;
  decltype(&cuEventElapsedTime) event_elapsed = nullptr;
  decltype(&cuEventDestroy) event_destroy = nullptr;

  explicit CudaApi(DynamicLibrary found);

  /// One line for an error code: "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  [[nodiscard]] std::string describe(CUresult result) const;

  /// DeviceFault, with what was tried, where the call did not succeed.
  template <typename... Args>
  void check_result(CUresult result, fmt::format_string<Args...> what, Args&&... args) const {
    if (result == CUDA_SUCCESS) return;
    throw DeviceFault("the GPU failed at {}: {}", fmt::format(what, std::forward<Args>(args)...), describe(result));
  }
};

/// The driver, of a version that the kernels run on. UserError where there is none.
[[nodiscard]] std::shared_ptr<const CudaApi> load_cuda();

/// Starts the driver; the number of GPUs that it sees. UserError where it does not start or sees none.
[[nodiscard]] int count_gpus(const CudaApi& api);

[[nodiscard]] DeviceFacts facts_of(const CudaApi& api, int index);

/// Why the kernels do not run on a GPU; empty where they do.
[[nodiscard]] std::string refusal_of(const DeviceFacts& facts);

/// "13.0"
[[nodiscard]] std::string driver_version(const CudaApi& api);

}  // namespace octet::gpu
