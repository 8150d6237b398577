// A client of HIP as programs are that load it at run time: a library found by its path, functions by their names. Each
// Hip is a library of its own, with an environment of its own, as if it were another process.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/gpu.h"
#include "sim/hip/api.h"

namespace octet::sim {

/// A path that no other test uses, in the directory for temporary files; removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("octet_hip_" + std::to_string(getpid()) + "_" + name)) {
    std::filesystem::remove(path_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

class Hip {
 public:
  /// Variables without their prefix: {"ARCH", "gfx950"}.
  using Environment = std::map<std::string, std::string>;

  explicit Hip(const Environment& environment = {}) {
    for (const auto& [name, value] : environment) setenv(("CDNA_SIM_" + name).c_str(), value.c_str(), 1);
    started = hipInit(0);
    for (const auto& [name, value] : environment) unsetenv(("CDNA_SIM_" + name).c_str());
  }
  Hip(const Hip&) = delete;
  Hip& operator=(const Hip&) = delete;
  ~Hip() { dlclose(library_); }

  [[nodiscard]] void* find(const char* name) const { return dlsym(library_, name); }

 private:
  /// A copy of the file, at a path that the loader does not know yet.
  static void* load() {
    static int copies = 0;
    const TemporaryFile copy(std::to_string(++copies) + "_libamdhip64.so.7");
    std::filesystem::copy_file(OCTET_SIM_HIP, copy.path());
    void* library = dlopen(copy.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    return library;
  }

  /// Becomes whatever function its declaration says.
  struct Found {
    void* address;
    template <typename Function>
    operator Function*() const {  // NOLINT(google-explicit-constructor): that is its purpose
      return reinterpret_cast<Function*>(address);
    }
  };
  [[nodiscard]] Found symbol(const char* name) const {
    void* address = find(name);
    if (address == nullptr) throw std::runtime_error(std::string(name) + " is not exported");
    return {address};
  }

  void* library_ = load();

 public:
  decltype(&::hipInit) hipInit = symbol("hipInit");
  decltype(&::hipDriverGetVersion) hipDriverGetVersion = symbol("hipDriverGetVersion");
  decltype(&::hipRuntimeGetVersion) hipRuntimeGetVersion = symbol("hipRuntimeGetVersion");
  decltype(&::hipGetDeviceCount) hipGetDeviceCount = symbol("hipGetDeviceCount");
  decltype(&::hipGetDevice) hipGetDevice = symbol("hipGetDevice");
  decltype(&::hipSetDevice) hipSetDevice = symbol("hipSetDevice");
  decltype(&::hipDeviceGet) hipDeviceGet = symbol("hipDeviceGet");
  decltype(&::hipDeviceGetName) hipDeviceGetName = symbol("hipDeviceGetName");
  decltype(&::hipDeviceGetPCIBusId) hipDeviceGetPCIBusId = symbol("hipDeviceGetPCIBusId");
  decltype(&::hipDeviceComputeCapability) hipDeviceComputeCapability = symbol("hipDeviceComputeCapability");
  decltype(&::hipDeviceTotalMem) hipDeviceTotalMem = symbol("hipDeviceTotalMem");
  decltype(&::hipDeviceGetAttribute) hipDeviceGetAttribute = symbol("hipDeviceGetAttribute");
  decltype(&::hipGetDeviceProperties) hipGetDeviceProperties = symbol("hipGetDeviceProperties");
  decltype(&::hipGetDevicePropertiesR0000) hipGetDevicePropertiesR0000 = symbol("hipGetDevicePropertiesR0000");
  decltype(&::hipGetDevicePropertiesR0600) hipGetDevicePropertiesR0600 = symbol("hipGetDevicePropertiesR0600");
  decltype(&::hipDeviceGetStreamPriorityRange) hipDeviceGetStreamPriorityRange =
      symbol("hipDeviceGetStreamPriorityRange");
  decltype(&::hipDeviceCanAccessPeer) hipDeviceCanAccessPeer = symbol("hipDeviceCanAccessPeer");
  decltype(&::hipDeviceSynchronize) hipDeviceSynchronize = symbol("hipDeviceSynchronize");
  decltype(&::hipDeviceReset) hipDeviceReset = symbol("hipDeviceReset");
  decltype(&::hipMemGetInfo) hipMemGetInfo = symbol("hipMemGetInfo");
  decltype(&::hipGetLastError) hipGetLastError = symbol("hipGetLastError");
  decltype(&::hipPeekAtLastError) hipPeekAtLastError = symbol("hipPeekAtLastError");
  decltype(&::hipGetErrorName) hipGetErrorName = symbol("hipGetErrorName");
  decltype(&::hipGetErrorString) hipGetErrorString = symbol("hipGetErrorString");
  decltype(&::hipDrvGetErrorName) hipDrvGetErrorName = symbol("hipDrvGetErrorName");
  decltype(&::hipDrvGetErrorString) hipDrvGetErrorString = symbol("hipDrvGetErrorString");
  decltype(&::hipMalloc) hipMalloc = symbol("hipMalloc");
  decltype(&::hipFree) hipFree = symbol("hipFree");
  decltype(&::hipMallocAsync) hipMallocAsync = symbol("hipMallocAsync");
  decltype(&::hipFreeAsync) hipFreeAsync = symbol("hipFreeAsync");
  decltype(&::hipMallocManaged) hipMallocManaged = symbol("hipMallocManaged");
  decltype(&::hipHostMalloc) hipHostMalloc = symbol("hipHostMalloc");
  decltype(&::hipHostFree) hipHostFree = symbol("hipHostFree");
  decltype(&::hipHostRegister) hipHostRegister = symbol("hipHostRegister");
  decltype(&::hipHostUnregister) hipHostUnregister = symbol("hipHostUnregister");
  decltype(&::hipHostGetDevicePointer) hipHostGetDevicePointer = symbol("hipHostGetDevicePointer");
  decltype(&::hipPointerGetAttributes) hipPointerGetAttributes = symbol("hipPointerGetAttributes");
  decltype(&::hipMemcpy) hipMemcpy = symbol("hipMemcpy");
  decltype(&::hipMemcpyAsync) hipMemcpyAsync = symbol("hipMemcpyAsync");
  decltype(&::hipMemcpyHtoD) hipMemcpyHtoD = symbol("hipMemcpyHtoD");
  decltype(&::hipMemcpyDtoH) hipMemcpyDtoH = symbol("hipMemcpyDtoH");
  decltype(&::hipMemcpyDtoD) hipMemcpyDtoD = symbol("hipMemcpyDtoD");
  decltype(&::hipMemcpyHtoDAsync) hipMemcpyHtoDAsync = symbol("hipMemcpyHtoDAsync");
  decltype(&::hipMemcpyDtoHAsync) hipMemcpyDtoHAsync = symbol("hipMemcpyDtoHAsync");
  decltype(&::hipMemcpyDtoDAsync) hipMemcpyDtoDAsync = symbol("hipMemcpyDtoDAsync");
  decltype(&::hipMemcpy2D) hipMemcpy2D = symbol("hipMemcpy2D");
  decltype(&::hipMemcpy2DAsync) hipMemcpy2DAsync = symbol("hipMemcpy2DAsync");
  decltype(&::hipMemset) hipMemset = symbol("hipMemset");
  decltype(&::hipMemsetAsync) hipMemsetAsync = symbol("hipMemsetAsync");
  decltype(&::hipMemsetD8) hipMemsetD8 = symbol("hipMemsetD8");
  decltype(&::hipMemsetD8Async) hipMemsetD8Async = symbol("hipMemsetD8Async");
  decltype(&::hipMemsetD16) hipMemsetD16 = symbol("hipMemsetD16");
  decltype(&::hipMemsetD16Async) hipMemsetD16Async = symbol("hipMemsetD16Async");
  decltype(&::hipMemsetD32) hipMemsetD32 = symbol("hipMemsetD32");
  decltype(&::hipMemsetD32Async) hipMemsetD32Async = symbol("hipMemsetD32Async");
  decltype(&::hipStreamCreate) hipStreamCreate = symbol("hipStreamCreate");
  decltype(&::hipStreamCreateWithFlags) hipStreamCreateWithFlags = symbol("hipStreamCreateWithFlags");
  decltype(&::hipStreamCreateWithPriority) hipStreamCreateWithPriority = symbol("hipStreamCreateWithPriority");
  decltype(&::hipStreamDestroy) hipStreamDestroy = symbol("hipStreamDestroy");
  decltype(&::hipStreamSynchronize) hipStreamSynchronize = symbol("hipStreamSynchronize");
  decltype(&::hipStreamQuery) hipStreamQuery = symbol("hipStreamQuery");
  decltype(&::hipStreamWaitEvent) hipStreamWaitEvent = symbol("hipStreamWaitEvent");
  decltype(&::hipEventCreate) hipEventCreate = symbol("hipEventCreate");
  decltype(&::hipEventCreateWithFlags) hipEventCreateWithFlags = symbol("hipEventCreateWithFlags");
  decltype(&::hipEventRecord) hipEventRecord = symbol("hipEventRecord");
  decltype(&::hipEventSynchronize) hipEventSynchronize = symbol("hipEventSynchronize");
  decltype(&::hipEventQuery) hipEventQuery = symbol("hipEventQuery");
  decltype(&::hipEventElapsedTime) hipEventElapsedTime = symbol("hipEventElapsedTime");
  decltype(&::hipEventDestroy) hipEventDestroy = symbol("hipEventDestroy");
  decltype(&::hipLaunchHostFunc) hipLaunchHostFunc = symbol("hipLaunchHostFunc");
  decltype(&::hipModuleLoad) hipModuleLoad = symbol("hipModuleLoad");
  decltype(&::hipModuleLoadData) hipModuleLoadData = symbol("hipModuleLoadData");
  decltype(&::hipModuleLoadDataEx) hipModuleLoadDataEx = symbol("hipModuleLoadDataEx");
  decltype(&::hipModuleUnload) hipModuleUnload = symbol("hipModuleUnload");
  decltype(&::hipModuleGetFunction) hipModuleGetFunction = symbol("hipModuleGetFunction");
  decltype(&::hipModuleGetGlobal) hipModuleGetGlobal = symbol("hipModuleGetGlobal");
  decltype(&::hipFuncGetAttribute) hipFuncGetAttribute = symbol("hipFuncGetAttribute");
  decltype(&::hipFuncGetAttributes) hipFuncGetAttributes = symbol("hipFuncGetAttributes");
  decltype(&::hipFuncSetAttribute) hipFuncSetAttribute = symbol("hipFuncSetAttribute");
  decltype(&::hipModuleOccupancyMaxActiveBlocksPerMultiprocessor) hipModuleOccupancyMaxActiveBlocksPerMultiprocessor =
      symbol("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  decltype(&::hipModuleLaunchKernel) hipModuleLaunchKernel = symbol("hipModuleLaunchKernel");
  decltype(&::hipExtModuleLaunchKernel) hipExtModuleLaunchKernel = symbol("hipExtModuleLaunchKernel");
  decltype(&::hipStreamBeginCapture) hipStreamBeginCapture = symbol("hipStreamBeginCapture");
  decltype(&::hipStreamEndCapture) hipStreamEndCapture = symbol("hipStreamEndCapture");
  decltype(&::hipStreamIsCapturing) hipStreamIsCapturing = symbol("hipStreamIsCapturing");
  decltype(&::hipStreamGetCaptureInfo) hipStreamGetCaptureInfo = symbol("hipStreamGetCaptureInfo");
  decltype(&::hipGraphCreate) hipGraphCreate = symbol("hipGraphCreate");
  decltype(&::hipGraphDestroy) hipGraphDestroy = symbol("hipGraphDestroy");
  decltype(&::hipGraphAddKernelNode) hipGraphAddKernelNode = symbol("hipGraphAddKernelNode");
  decltype(&::hipGraphAddMemcpyNode1D) hipGraphAddMemcpyNode1D = symbol("hipGraphAddMemcpyNode1D");
  decltype(&::hipGraphAddMemsetNode) hipGraphAddMemsetNode = symbol("hipGraphAddMemsetNode");
  decltype(&::hipGraphAddHostNode) hipGraphAddHostNode = symbol("hipGraphAddHostNode");
  decltype(&::hipGraphAddEmptyNode) hipGraphAddEmptyNode = symbol("hipGraphAddEmptyNode");
  decltype(&::hipGraphAddDependencies) hipGraphAddDependencies = symbol("hipGraphAddDependencies");
  decltype(&::hipGraphGetNodes) hipGraphGetNodes = symbol("hipGraphGetNodes");
  decltype(&::hipGraphNodeGetType) hipGraphNodeGetType = symbol("hipGraphNodeGetType");
  decltype(&::hipGraphInstantiate) hipGraphInstantiate = symbol("hipGraphInstantiate");
  decltype(&::hipGraphInstantiateWithFlags) hipGraphInstantiateWithFlags = symbol("hipGraphInstantiateWithFlags");
  decltype(&::hipGraphUpload) hipGraphUpload = symbol("hipGraphUpload");
  decltype(&::hipGraphLaunch) hipGraphLaunch = symbol("hipGraphLaunch");
  decltype(&::hipGraphExecUpdate) hipGraphExecUpdate = symbol("hipGraphExecUpdate");
  decltype(&::hipGraphExecKernelNodeSetParams) hipGraphExecKernelNodeSetParams =
      symbol("hipGraphExecKernelNodeSetParams");
  decltype(&::hipGraphExecDestroy) hipGraphExecDestroy = symbol("hipGraphExecDestroy");
  hipError_t started;  ///< what hipInit() gave
};

/// Memory of the current device with the values.
template <typename T>
[[nodiscard]] T* upload(const Hip& hip, const std::vector<T>& values) {
  void* pointer = nullptr;
  EXPECT_EQ(hip.hipMalloc(&pointer, values.size() * sizeof(T)), hipSuccess);
  EXPECT_EQ(hip.hipMemcpy(pointer, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice), hipSuccess);
  return static_cast<T*>(pointer);
}

template <typename T>
[[nodiscard]] std::vector<T> download(const Hip& hip, const T* pointer, std::size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(hip.hipMemcpy(values.data(), pointer, count * sizeof(T), hipMemcpyDeviceToHost), hipSuccess);
  return values;
}

/// A module of the build's test kernels.
[[nodiscard]] inline hipModule_t load_module(const Hip& hip, const std::string& source, Generation generation) {
  hipModule_t module = nullptr;
  EXPECT_EQ(hip.hipModuleLoad(&module, kernel_path(source, generation).c_str()), hipSuccess);
  return module;
}

[[nodiscard]] inline hipFunction_t function_of(const Hip& hip, hipModule_t module, const char* name) {
  hipFunction_t function = nullptr;
  EXPECT_EQ(hip.hipModuleGetFunction(&function, module, name), hipSuccess) << name;
  return function;
}

/// Blocks of 256 lanes along x; a pointer to each argument.
template <typename... Arguments>
hipError_t launch(const Hip& hip, hipFunction_t function, unsigned blocks, hipStream_t stream, Arguments... arguments) {
  std::vector<void*> parameters{&arguments...};
  return hip.hipModuleLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, stream, parameters.data(), nullptr);
}

[[nodiscard]] inline Hip::Environment environment(Generation generation) {
  return {{"ARCH", std::string(processor(generation))}, {"THREADS", "2"}};
}

}  // namespace octet::sim
