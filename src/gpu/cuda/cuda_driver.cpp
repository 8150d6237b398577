#include "gpu/cuda/cuda_driver.h"

#include <cuda.h>
#include <fmt/format.h>

#include <array>
#include <map>
#include <mutex>

#include "core/error.h"
#include "gpu/cuda/kernel_images.h"
#include "gpu/dynamic_library.h"

namespace octet::gpu {
namespace {

constexpr int kOldestDriver = 12040;  // what the embedded images were made for

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
  decltype(&cuLaunchKernel) launch_kernel = nullptr;
  decltype(&cuStreamCreate) stream_create = nullptr;
  decltype(&cuStreamDestroy) stream_destroy = nullptr;
  decltype(&cuStreamSynchronize) stream_synchronize = nullptr;
  decltype(&cuStreamBeginCapture) begin_capture = nullptr;
  decltype(&cuStreamEndCapture) end_capture = nullptr;
  decltype(&cuGraphInstantiateWithFlags) graph_instantiate = nullptr;
  decltype(&cuGraphLaunch) graph_launch = nullptr;
  decltype(&cuGraphExecDestroy) graph_exec_destroy = nullptr;
  decltype(&cuGraphDestroy) graph_destroy = nullptr;
  decltype(&cuEventCreate) event_create = nullptr;
  decltype(&cuEventRecord) event_record = nullptr;
  decltype(&cuEventSynchronize) event_synchronize = nullptr;
  decltype(&cuEventElapsedTime) event_elapsed = nullptr;
  decltype(&cuEventDestroy) event_destroy = nullptr;

  explicit CudaApi(DynamicLibrary found) : library(std::move(found)) {
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
    bind("cuLaunchKernel", launch_kernel);
    bind("cuStreamCreate", stream_create);
    bind("cuStreamDestroy_v2", stream_destroy);
    bind("cuStreamSynchronize", stream_synchronize);
    bind("cuStreamBeginCapture_v2", begin_capture);
    bind("cuStreamEndCapture", end_capture);
    bind("cuGraphInstantiateWithFlags", graph_instantiate);
    bind("cuGraphLaunch", graph_launch);
    bind("cuGraphExecDestroy", graph_exec_destroy);
    bind("cuGraphDestroy", graph_destroy);
    bind("cuEventCreate", event_create);
    bind("cuEventRecord", event_record);
    bind("cuEventSynchronize", event_synchronize);
    bind("cuEventElapsedTime_v2", "cuEventElapsedTime", event_elapsed);
    bind("cuEventDestroy_v2", event_destroy);
  }

  /// One line for an error code: "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  [[nodiscard]] std::string describe(CUresult result) const {
    const char* name = nullptr;
    const char* text = nullptr;
    get_error_name(result, &name);
    get_error_string(result, &text);
    return fmt::format("{} ({})", name == nullptr ? "unknown error" : name, text == nullptr ? "no text" : text);
  }

  void check_result(CUresult result, const char* what) const {
    if (result != CUDA_SUCCESS) throw Failure("the GPU failed at {}: {}", what, describe(result));
  }

 private:
  template <typename Function>
  void bind(const char* symbol, Function& function) const {
    library.bind(symbol, function);
  }
  template <typename Function>
  void bind(const char* newer, const char* older, Function& function) const {
    try {
      library.bind(newer, function);
    } catch (const UserError&) {  // the same function under the name that it had before CUDA 12.8
      library.bind(older, function);
    }
  }
};

std::shared_ptr<const CudaApi> load_cuda() {
  constexpr std::array<std::string_view, 2> kNames{"libcuda.so.1", "libcuda.so"};
  auto library = DynamicLibrary::find(kNames);
  if (!library) {
    throw UserError(
        "there is no libcuda.so.1: install NVIDIA's driver (in a container, start it with the GPU passed in), "
        "or run on the CPU");
  }
  return std::make_shared<const CudaApi>(std::move(*library));
}

int driver_version(const CudaApi& api) {
  int version = 0;
  api.check_result(api.driver_get_version(&version), "asking for the driver's version");
  return version;
}

/// Devices after the driver has started. UserError where it is too old or sees none.
int count_devices(const CudaApi& api) {
  const CUresult started = api.init(0);
  if (started != CUDA_SUCCESS) throw UserError("{} does not start: {}", api.library.path(), api.describe(started));
  const int version = driver_version(api);
  if (version < kOldestDriver) {
    throw UserError("{} is of CUDA {}.{}, the kernels need {}.{} or newer: update NVIDIA's driver", api.library.path(),
                    version / 1000, version % 1000 / 10, kOldestDriver / 1000, kOldestDriver % 1000 / 10);
  }
  int count = 0;
  api.check_result(api.device_get_count(&count), "counting devices");
  if (count == 0) throw UserError("{} sees no GPU: CUDA_VISIBLE_DEVICES may hide it", api.library.path());
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
  const int version = driver_version(api);
  return {.name = name.data(),
          .arch = fmt::format("sm_{}{}", attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                              attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)),
          .multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
          .warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
          .memory_bytes = memory,
          .l2_bytes = static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)),
          .shared_bytes = static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)),
          .runtime = fmt::format("CUDA {}.{}, {}", version / 1000, version % 1000 / 10, api.library.path())};
}

class CudaGraph final : public Graph {
 public:
  CudaGraph(std::shared_ptr<const CudaApi> api, CUgraphExec exec) : api_(std::move(api)), exec_(exec) {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override { api_->graph_exec_destroy(exec_); }
  [[nodiscard]] CUgraphExec exec() const { return exec_; }

 private:
  std::shared_ptr<const CudaApi> api_;
  CUgraphExec exec_;
};

/// The primary context, which vendor libraries share.
class Context {
 public:
  Context(std::shared_ptr<const CudaApi> api, int index) : api_(std::move(api)) {
    api_->check_result(api_->device_get(&device_, index), "opening the device");
    CUcontext context = nullptr;
    api_->check_result(api_->primary_context_retain(&context, device_), "making a context");
    api_->check_result(api_->context_set_current(context), "choosing the context");
    api_->check_result(api_->stream_create(&stream_, CU_STREAM_NON_BLOCKING), "making a stream");
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    api_->stream_destroy(stream_);
    api_->primary_context_release(device_);
  }

  [[nodiscard]] const CudaApi& api() const { return *api_; }
  [[nodiscard]] const std::shared_ptr<const CudaApi>& shared_api() const { return api_; }
  [[nodiscard]] CUstream stream() const { return stream_; }

 private:
  std::shared_ptr<const CudaApi> api_;
  CUdevice device_ = 0;
  CUstream stream_ = nullptr;
};

CUdeviceptr address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

class CudaDriver final : public Driver {
 public:
  CudaDriver(std::shared_ptr<const CudaApi> api, int index)
      : facts_(facts_of(*api, index)), context_(std::make_shared<Context>(std::move(api), index)) {
    for (const KernelImage& image : kernel_images()) load(image);
  }
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;
  ~CudaDriver() override {
    for (const CUevent event : events_) api().event_destroy(event);
    for (const CUmodule module : modules_) api().module_unload(module);
  }

  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }
  [[nodiscard]] std::size_t free_bytes() const override {
    std::size_t free = 0;
    std::size_t total = 0;
    api().check_result(api().mem_get_info(&free, &total), "asking for free memory");
    return free;
  }

  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
    CUdeviceptr pointer = 0;
    const CUresult result = api().mem_alloc(&pointer, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) throw UserError("{}", out_of_memory(bytes));
    api().check_result(result, "allocating memory");
    return owned(pointer);
  }

  [[nodiscard]] std::shared_ptr<std::byte> allocate_shared(std::size_t bytes) override {
    CUdeviceptr pointer = 0;
    api().check_result(api().mem_alloc_managed(&pointer, bytes, CU_MEM_ATTACH_GLOBAL), "allocating shared memory");
    return owned(pointer);
  }

  void upload(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    api().check_result(api().memcpy_to_device(address(to), from, bytes, stream()), "copying to the device");
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    api().check_result(api().memcpy_to_host(to, address(from), bytes, stream()), "copying to the host");
    finish();
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    api().check_result(api().memcpy_on_device(address(to), address(from), bytes, stream()), "copying");
  }
  void zero(void* to, std::size_t bytes) override {
    if (bytes == 0) return;
    api().check_result(api().memset_bytes(address(to), 0, bytes, stream()), "clearing memory");
  }

  [[nodiscard]] Kernel kernel(const std::string& name) override {
    const auto known = kernels_.find(name);
    if (known == kernels_.end()) throw Failure("no kernel image has {}", name);
    return known->second;
  }

  void launch(Kernel kernel, const LaunchShape& shape, const void* arguments, std::size_t bytes) override {
    constexpr unsigned kWithoutAsking = 48 << 10;
    auto* function = static_cast<CUfunction>(kernel.handle);
    if (shape.shared_bytes > kWithoutAsking) {
      api().check_result(api().function_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                      static_cast<int>(shape.shared_bytes)),
                         "asking for shared memory");
    }
    std::array<void*, 5> extra{CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<void*>(arguments),
                               CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    api().check_result(api().launch_kernel(function, shape.blocks_x, shape.blocks_y, 1, shape.threads, 1, 1,
                                           shape.shared_bytes, stream(), nullptr, extra.data()),
                       "launching a kernel");
  }

  void finish() override { api().check_result(api().stream_synchronize(stream()), "waiting for its work"); }

  [[nodiscard]] TimeMark mark() override {
    if (used_events_ == events_.size()) {
      CUevent event = nullptr;
      api().check_result(api().event_create(&event, CU_EVENT_DEFAULT), "making an event");
      events_.push_back(event);
    }
    api().check_result(api().event_record(events_[used_events_], stream()), "recording an event");
    return {static_cast<std::int64_t>(used_events_++)};
  }
  [[nodiscard]] double seconds(TimeMark from, TimeMark to) override {
    const CUevent end = events_.at(static_cast<std::size_t>(to.index));
    api().check_result(api().event_synchronize(end), "waiting for an event");
    float milliseconds = 0;
    api().check_result(api().event_elapsed(&milliseconds, events_.at(static_cast<std::size_t>(from.index)), end),
                       "reading an event");
    return static_cast<double>(milliseconds) * 1e-3;
  }
  void forget_marks() override { used_events_ = 0; }

  void begin_capture() override {
    api().check_result(api().begin_capture(stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "beginning a capture");
  }
  [[nodiscard]] std::unique_ptr<Graph> end_capture() override {
    CUgraph graph = nullptr;
    api().check_result(api().end_capture(stream(), &graph), "ending a capture");
    CUgraphExec exec = nullptr;
    const CUresult result = api().graph_instantiate(&exec, graph, 0);
    api().graph_destroy(graph);
    api().check_result(result, "instantiating a graph");
    return std::make_unique<CudaGraph>(context_->shared_api(), exec);
  }
  void replay(const Graph& graph) override {
    api().check_result(api().graph_launch(static_cast<const CudaGraph&>(graph).exec(), stream()), "starting a graph");
  }

  [[nodiscard]] void* native_stream() const override { return stream(); }

 private:
  [[nodiscard]] const CudaApi& api() const { return context_->api(); }
  [[nodiscard]] CUstream stream() const { return context_->stream(); }

  [[nodiscard]] std::shared_ptr<std::byte> owned(CUdeviceptr pointer) const {
    return {reinterpret_cast<std::byte*>(pointer),
            [context = context_](std::byte* memory) { context->api().mem_free(address(memory)); }};
  }

  void load(const KernelImage& image) {
    CUmodule module = nullptr;
    const CUresult result = api().module_load(&module, image.data);
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_IMAGE) {
      throw UserError(
          "{} is {}, and this octet holds kernels for {}: build it for that architecture, or run on the CPU",
          facts_.name, facts_.arch, kKernelArch);
    }
    api().check_result(result, "loading kernels");
    modules_.push_back(module);
    unsigned count = 0;
    api().check_result(api().module_get_function_count(&count, module), "counting kernels");
    std::vector<CUfunction> functions(count);
    api().check_result(api().module_enumerate_functions(functions.data(), count, module), "listing kernels");
    for (const CUfunction function : functions) {
      const char* name = nullptr;
      api().check_result(api().function_get_name(&name, function), "naming a kernel");
      kernels_[name] = Kernel{function};
    }
  }

  [[nodiscard]] std::string out_of_memory(std::size_t bytes) const {
    std::size_t free = 0;
    std::size_t total = 0;
    api().check_result(api().mem_get_info(&free, &total), "asking for free memory");
    constexpr double kGiB = 1U << 30U;
    return fmt::format(
        "the plan needs {:.2f} GiB, {} has {:.2f} GiB free of {:.2f}: lower training.seq_len or batch_size, or see "
        "--dry-run for what recompute and bf16 states save",
        static_cast<double>(bytes) / kGiB, facts_.name, static_cast<double>(free) / kGiB,
        static_cast<double>(total) / kGiB);
  }

  DeviceFacts facts_;
  std::shared_ptr<Context> context_;
  std::vector<CUmodule> modules_;
  std::map<std::string, Kernel, std::less<>> kernels_;
  std::vector<CUevent> events_;
  std::size_t used_events_ = 0;
};

}  // namespace

CudaSurvey survey_cuda() {
  CudaSurvey survey;
  try {
    const auto api = load_cuda();
    const int count = count_devices(*api);
    for (int i = 0; i < count; ++i) survey.devices.push_back(facts_of(*api, i));
  } catch (const UserError& error) {
    survey.problem = error.what();
  }
  return survey;
}

std::unique_ptr<Driver> open_cuda(int index) {
  auto api = load_cuda();
  const int count = count_devices(*api);
  if (index < 0 || index >= count) throw UserError("there is no GPU {}: this machine has 0 to {}", index, count - 1);
  return std::make_unique<CudaDriver>(std::move(api), index);
}

}  // namespace octet::gpu
