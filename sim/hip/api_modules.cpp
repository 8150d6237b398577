// Exported functions: modules, functions and launches.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "sim/hip/api.h"
#include "sim/hip/errors.h"
#include "sim/hip/kernel_launch.h"
#include "sim/hip/process.h"
#include "sim/hip/runtime.h"

using namespace octet::sim::hip;
using octet::sim::Extent;
using octet::sim::Kernel;

namespace {

void load(Runtime& runtime, hipModule_t* module, std::span<const std::byte> image, const std::string& name) {
  Device& device = runtime.current_device();
  *module = runtime.modules.add(std::make_unique<ihipModule_t>(ihipModule_t{load_code(device, image, name)}));
}

hipError_t load_from_memory(hipModule_t* module, const void* image) {
  return answer([&](Runtime& runtime) {
    require(module != nullptr, hipErrorInvalidValue);
    load(runtime, module, image_at(image), "image in memory");
  });
}

int attribute(const ihipModuleSymbol_t& function, hipFunction_attribute which) {
  const Kernel& kernel = *function.kernel;
  const Processor& processor = function.module->code->device.processor();
  switch (which) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return static_cast<int>(kernel.largest_workgroup);
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(kernel.lds_bytes);
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return static_cast<int>(kernel.scratch_bytes);
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
      return static_cast<int>(kernel.vgprs);
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
      return processor.major * 10 + processor.minor;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return processor.lds_bytes - static_cast<int>(kernel.lds_bytes);
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return 0;
  }
  throw HipError(hipErrorInvalidValue);
}

/// Calls that HIP gives the address of a function of the host take a module's function here: there are no others.
const ihipModuleSymbol_t& function_of(Runtime& runtime, const void* pointer) {
  const auto* const handle = static_cast<const ihipModuleSymbol_t*>(pointer);
  require(runtime.functions.holds(handle), hipErrorInvalidDeviceFunction);
  return *handle;
}

void launch(Runtime& runtime, hipFunction_t function, const LaunchRequest& request, hipStream_t stream) {
  const ihipModuleSymbol_t& known = runtime.functions.get(function, hipErrorInvalidHandle);
  ihipStream_t& on = runtime.stream(stream);
  submit(runtime, on, kernel_work(known, request, on.device));
}

}  // namespace

hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  return answer([&](Runtime& runtime) {
    require(module != nullptr && path != nullptr, hipErrorInvalidValue);
    std::ifstream file(path, std::ios::binary);
    const std::string characters{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || file.bad()) refuse(hipErrorFileNotFound, "{}: cannot be read", path);
    load(runtime, module, std::as_bytes(std::span(characters)), path);
  });
}

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return load_from_memory(module, image);
}

hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned /*option_count*/,
                               hipJitOption* /*options*/, void** /*values*/) {
  return load_from_memory(module, image);
}

hipError_t hipModuleUnload(hipModule_t module) {
  return answer([&](Runtime& runtime) {
    static_cast<void>(runtime.modules.get(module, hipErrorInvalidHandle));
    runtime.unload(module);
  });
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return answer([&](Runtime& runtime) {
    require(function != nullptr && name != nullptr && *name != '\0', hipErrorInvalidValue);
    ihipModule_t& from = runtime.modules.get(module, hipErrorInvalidHandle);
    const auto& kernels = from.code->program.object().kernels;
    const auto found = kernels.find(name);
    require(found != kernels.end(), hipErrorNotFound);
    hipFunction_t& known = from.functions[name];
    if (known == nullptr) {
      known = runtime.functions.add(
          std::make_unique<ihipModuleSymbol_t>(ihipModuleSymbol_t{&from, from.code, &found->second}));
    }
    *function = known;
  });
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t* pointer, std::size_t* size, hipModule_t module, const char* name) {
  return answer([&](Runtime& runtime) {
    require(pointer != nullptr || size != nullptr, hipErrorInvalidValue);
    require(name != nullptr && *name != '\0', hipErrorInvalidValue);
    const LoadedCode& code = *runtime.modules.get(module, hipErrorInvalidHandle).code;
    const auto found = code.variables.find(name);
    require(found != code.variables.end(), hipErrorNotFound);
    if (pointer != nullptr) *pointer = reinterpret_cast<hipDeviceptr_t>(code.address_of(found->second));
    if (size != nullptr) *size = found->second.size;
  });
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute which, hipFunction_t function) {
  return answer([&](Runtime& runtime) {
    require(value != nullptr, hipErrorInvalidValue);
    *value = attribute(runtime.functions.get(function, hipErrorInvalidHandle), which);
  });
}

hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  return answer([&](Runtime& runtime) {
    require(attributes != nullptr, hipErrorInvalidValue);
    const ihipModuleSymbol_t& of = function_of(runtime, function);
    const Kernel& kernel = *of.kernel;
    *attributes = {};
    attributes->binaryVersion = attribute(of, HIP_FUNC_ATTRIBUTE_BINARY_VERSION);
    attributes->ptxVersion = attributes->binaryVersion;
    attributes->localSizeBytes = kernel.scratch_bytes;
    attributes->sharedSizeBytes = kernel.lds_bytes;
    attributes->maxThreadsPerBlock = static_cast<int>(kernel.largest_workgroup);
    attributes->numRegs = static_cast<int>(kernel.vgprs);
    attributes->maxDynamicSharedSizeBytes = attribute(of, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  });
}

hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute which, int value) {
  return answer([&](Runtime& runtime) {
    const ihipModuleSymbol_t& of = function_of(runtime, function);
    if (which == hipFuncAttributeMaxDynamicSharedMemorySize) {
      const int most = attribute(of, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
      return require(value >= 0 && value <= most, hipErrorInvalidValue);  // all of it is there without being asked for
    }
    require(which == hipFuncAttributePreferredSharedMemoryCarveout, hipErrorInvalidValue);
    require(value >= -1 && value <= 100, hipErrorInvalidValue);
  });
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function, int block_size,
                                                              std::size_t dynamic_shared) {
  return answer([&](Runtime& runtime) {
    require(blocks != nullptr && block_size > 0, hipErrorInvalidValue);
    const ihipModuleSymbol_t& of = runtime.functions.get(function, hipErrorInvalidHandle);
    const std::size_t dynamic = std::min<std::size_t>(dynamic_shared, std::numeric_limits<std::uint32_t>::max() / 2);
    *blocks = workgroups_per_unit(of, static_cast<std::uint32_t>(block_size), static_cast<std::uint32_t>(dynamic));
  });
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared,
                                 hipStream_t stream, void** parameters, void** extra) {
  return answer([&](Runtime& runtime) {
    launch(runtime, function,
           {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared, parameters, extra}, stream);
  });
}

hipError_t hipExtModuleLaunchKernel(hipFunction_t function, std::uint32_t threads_x, std::uint32_t threads_y,
                                    std::uint32_t threads_z, std::uint32_t block_x, std::uint32_t block_y,
                                    std::uint32_t block_z, std::size_t dynamic_shared, hipStream_t stream,
                                    void** parameters, void** extra, hipEvent_t start, hipEvent_t stop,
                                    std::uint32_t /*flags*/) {
  return answer([&](Runtime& runtime) {
    require(block_x != 0 && block_y != 0 && block_z != 0, hipErrorInvalidConfiguration);
    // Clang compiles for whole blocks alone, unless it is told otherwise.
    require(threads_x % block_x == 0 && threads_y % block_y == 0 && threads_z % block_z == 0, hipErrorInvalidValue);
    ihipStream_t& on = runtime.stream(stream);
    if (start != nullptr) record(runtime.event(start), on);
    launch(runtime, function,
           {{threads_x / block_x, threads_y / block_y, threads_z / block_z},
            {block_x, block_y, block_z},
            dynamic_shared,
            parameters,
            extra},
           stream);
    // Not through event(): a fault of the kernel comes to light at the next call.
    if (stop != nullptr) record(runtime.events.get(stop, hipErrorInvalidHandle), on);
  });
}
