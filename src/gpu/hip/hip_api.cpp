#include "gpu/hip/hip_api.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

namespace octet::gpu {
namespace {

std::string no_gpu(const HipApi& api) {
  for (const char* variable : {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    const char* visible = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nobody sets it
    if (visible == nullptr) continue;
    return fmt::format("{} sees no GPU: {} is \"{}\", which may hide it; or run on the CPU", api.library.path(),
                       variable, visible);
  }
  return fmt::format(
      "{} sees no GPU: rocminfo shows those of this machine, a user needs the groups render and video, and a container "
      "/dev/kfd and /dev/dri; or run on the CPU",
      api.library.path());
}

}  // namespace

HipApi::HipApi(DynamicLibrary found) : library(std::move(found)) {
  const auto bind = [this](const char* symbol, auto& function) { library.bind(symbol, function); };
  bind("hipInit", init);
  bind("hipRuntimeGetVersion", runtime_get_version);
  bind("hipGetErrorName", get_error_name);
  bind("hipGetErrorString", get_error_string);
  bind("hipGetDeviceCount", get_device_count);
  bind("hipGetDevicePropertiesR0600", get_device_properties);
  bind("hipSetDevice", set_device);
  bind("hipMemGetInfo", mem_get_info);
  bind("hipMalloc", malloc);
  bind("hipFree", free);
  bind("hipHostMalloc", host_malloc);
  bind("hipHostFree", host_free);
  bind("hipMemcpyHtoDAsync", memcpy_to_device);
  bind("hipMemcpyDtoHAsync", memcpy_to_host);
  bind("hipMemcpyDtoDAsync", memcpy_on_device);
  bind("hipMemsetAsync", memset_bytes);
  bind("hipModuleLoadData", module_load);
  bind("hipModuleUnload", module_unload);
  bind("hipModuleGetFunction", module_get_function);
  bind("hipModuleLaunchKernel", launch_kernel);
  bind("hipStreamCreateWithFlags", stream_create);
  bind("hipStreamDestroy", stream_destroy);
  bind("hipStreamSynchronize", stream_synchronize);
  bind("hipStreamBeginCapture", begin_capture);
  bind("hipStreamEndCapture", end_capture);
  bind("hipGraphGetNodes", graph_get_nodes);
  bind("hipGraphInstantiate", graph_instantiate);
  bind("hipGraphLaunch", graph_launch);
  bind("hipGraphExecDestroy", graph_exec_destroy);
  bind("hipGraphDestroy", graph_destroy);
  bind("hipEventCreate", event_create);
  bind("hipEventRecord", event_record);
  bind("hipEventSynchronize", event_synchronize);
  bind("hipEventElapsedTime", event_elapsed);
  bind("hipEventDestroy", event_destroy);
}

std::string HipApi::describe(hip::Result result) const {
  const char* name = get_error_name(result);
  const char* text = get_error_string(result);
  return fmt::format("{} ({})", name == nullptr ? "unknown error" : name, text == nullptr ? "no text" : text);
}

std::shared_ptr<const HipApi> load_hip() {
  // Of ROCm 7, 6 and 5; the last has other functions, which binding says.
  constexpr std::array<std::string_view, 4> kNames{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                                   "libamdhip64.so"};
  const std::array<std::string, 1> directories{"/opt/rocm/lib"};
  auto search = DynamicLibrary::find(kNames, directories);
  if (!search.library) {
    throw UserError("{}: install ROCm's HIP runtime 6.0 or newer (hip-runtime-amd), or run on the CPU", search.problem);
  }
  return std::make_shared<const HipApi>(std::move(*search.library));
}

std::string runtime_version(const HipApi& api) {
  int version = 0;
  api.check_result(api.runtime_get_version(&version), "asking for the runtime's version");
  return fmt::format("{}.{}.{}", version / 10000000, version / 100000 % 100, version % 100000);
}

int count_gpus(const HipApi& api) {
  const hip::Result started = api.init(0);
  if (started == hip::Result::no_device) throw UserError("{}", no_gpu(api));
  if (started != hip::Result::success) {
    throw UserError("{} does not start: {}: see whether rocminfo works, and look into dmesg", api.library.path(),
                    api.describe(started));
  }
  int count = 0;
  const hip::Result counted = api.get_device_count(&count);
  if (counted != hip::Result::no_device) api.check_result(counted, "counting devices");
  if (count == 0) throw UserError("{}", no_gpu(api));
  return count;
}

DeviceFacts facts_of(const HipApi& api, int index) {
  hip::DeviceProperties properties{};
  api.check_result(api.get_device_properties(&properties, index), "asking for a device's properties");
  const std::string arch = properties.arch;
  return {.name = properties.name,
          .arch = arch.substr(0, arch.find(':')),
          .multiprocessors = properties.multiprocessors,
          .warp_size = properties.warp_size,
          .memory_bytes = properties.total_memory,
          .l2_bytes = static_cast<std::size_t>(properties.l2_bytes),
          .shared_bytes = properties.shared_bytes_a_block,
          .runtime = fmt::format("HIP {}, {}", runtime_version(api), api.library.path())};
}

}  // namespace octet::gpu
