#include "gpu/cuda/cuda_driver.h"

#include <cuda.h>
#include <fmt/format.h>

#include <array>
#include <map>

#include "core/error.h"
#include "gpu/complaints.h"
#include "gpu/cuda/cuda_api.h"
#include "gpu/cuda/kernel_images.h"

namespace octet::gpu {
namespace {

/// The primary context, which vendor libraries share.
class Context {
 public:
  Context(std::shared_ptr<const CudaApi> api, int index) : api_(std::move(api)) {
    api_->check_result(api_->device_get(&device_, index), "opening the device");
    CUcontext context = nullptr;
    const CUresult made = api_->primary_context_retain(&context, device_);
    if (made == CUDA_ERROR_OUT_OF_MEMORY || made == CUDA_ERROR_DEVICE_UNAVAILABLE) {
      throw UserError("cuda:{} is taken: {}: nvidia-smi shows what runs on it, wait for that or choose another GPU",
                      index, api_->describe(made));
    }
    api_->check_result(made, "making a context");
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
  [[nodiscard]] CUstream stream() const { return stream_; }

 private:
  std::shared_ptr<const CudaApi> api_;
  CUdevice device_ = 0;
  CUstream stream_ = nullptr;
};

/// What a capture has left, made ready to run.
class CudaGraph final : public Graph {
 public:
  /// Frees `captured`. Throws Failure where the device cannot hold what is to be run.
  CudaGraph(std::shared_ptr<const Context> context, CUgraph captured) : context_(std::move(context)) {
    std::size_t nodes = 0;
    CUresult result = api().graph_get_nodes(captured, nullptr, &nodes);
    if (result == CUDA_SUCCESS) result = api().graph_instantiate(&exec_, captured, 0);
    api().graph_destroy(captured);
    api().check_result(result, "making a graph of what was captured");
    launches_ = static_cast<std::int64_t>(nodes);
    const CUresult uploaded = api().graph_upload(exec_, context_->stream());
    if (uploaded == CUDA_SUCCESS) return;
    api().graph_exec_destroy(exec_);
    api().check_result(uploaded, "loading a graph");
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override { api().graph_exec_destroy(exec_); }

  [[nodiscard]] std::int64_t launches() const override { return launches_; }
  [[nodiscard]] CUgraphExec exec() const { return exec_; }

 private:
  [[nodiscard]] const CudaApi& api() const { return context_->api(); }

  std::shared_ptr<const Context> context_;
  CUgraphExec exec_ = nullptr;
  std::int64_t launches_ = 0;
};

CUdeviceptr address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

class CudaDriver final : public Driver {
 public:
  CudaDriver(std::shared_ptr<const CudaApi> api, DeviceFacts facts, int index)
      : facts_(std::move(facts)), context_(std::make_shared<Context>(std::move(api), index)) {
    for (const KernelImage& image : kernel_images()) load(image);
  }
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;
  ~CudaDriver() override {
    for (const CUevent event : events_) api().event_destroy(event);
    for (const CUmodule module : modules_) api().module_unload(module);
  }

  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }
  [[nodiscard]] DeviceMemory memory() const override {
    DeviceMemory memory;
    api().check_result(api().mem_get_info(&memory.free_bytes, &memory.total_bytes), "asking for free memory");
    return memory;
  }

  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
    CUdeviceptr pointer = 0;
    const CUresult result = api().mem_alloc(&pointer, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) throw UserError("{}", out_of_memory(facts_, memory(), bytes));
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

  void launch(Kernel kernel, const LaunchShape& shape, const void* arguments, std::size_t /*bytes*/) override {
    auto* function = static_cast<CUfunction>(kernel.handle);
    allow_shared(function, shape.shared_bytes);
    // By address: the driver knows where a struct of larger alignment lies among a kernel's parameters.
    std::array<void*, 1> parameters{const_cast<void*>(arguments)};
    // The kernel may begin while what is before it in the stream ends: it waits itself (await_previous_kernels).
    CUlaunchAttribute overlap{};
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{};
    config.gridDimX = shape.blocks_x;
    config.gridDimY = shape.blocks_y;
    config.gridDimZ = 1;
    config.blockDimX = shape.threads;
    config.blockDimY = shape.threads_y;
    config.blockDimZ = 1;
    config.sharedMemBytes = shape.shared_bytes;
    config.hStream = stream();
    config.attrs = &overlap;
    config.numAttrs = 1;
    const CUresult result = api().launch_kernel(&config, function, parameters.data(), nullptr);
    if (result != CUDA_SUCCESS) api().check_result(result, "launching {}", name_of(function));
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
    // Refuses what must not happen here, and leaves other threads, such as those of libraries, alone.
    api().check_result(api().begin_capture(stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "beginning a capture");
  }
  [[nodiscard]] std::unique_ptr<Graph> end_capture() override {
    CUgraph graph = nullptr;
    api().check_result(api().end_capture(stream(), &graph), "ending a capture");
    return std::make_unique<CudaGraph>(context_, graph);
  }
  void abandon_capture() noexcept override {
    CUgraph graph = nullptr;
    if (api().end_capture(stream(), &graph) == CUDA_SUCCESS) api().graph_destroy(graph);
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

  /// Lets launches of the function have that much shared memory. What one was allowed stays: a graph may hold it.
  void allow_shared(CUfunction function, unsigned bytes) {
    constexpr unsigned kWithoutAsking = 32 << 10;  // 48 KiB with the arrays of fixed size
    if (bytes <= kWithoutAsking) return;
    unsigned& allowed = shared_bytes_[function];
    if (bytes <= allowed) return;
    api().check_result(api().function_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                    static_cast<int>(bytes)),
                       "asking for shared memory");
    allowed = bytes;
  }

  void load(const KernelImage& image) {
    CUmodule module = nullptr;
    const CUresult result = api().module_load(&module, image.data);
    api().check_result(result, "loading the kernels of {}", image.name);
    modules_.push_back(module);
    unsigned count = 0;
    api().check_result(api().module_get_function_count(&count, module), "counting kernels");
    std::vector<CUfunction> functions(count);
    api().check_result(api().module_enumerate_functions(functions.data(), count, module), "listing kernels");
    for (const CUfunction function : functions) kernels_[name_of(function)] = Kernel{function};
  }

  [[nodiscard]] std::string name_of(CUfunction function) const {
    const char* name = nullptr;
    api().check_result(api().function_get_name(&name, function), "naming a kernel");
    return name;
  }

  DeviceFacts facts_;
  std::shared_ptr<Context> context_;
  std::vector<CUmodule> modules_;
  std::map<std::string, Kernel, std::less<>> kernels_;
  std::map<CUfunction, unsigned> shared_bytes_;  // allowed beyond what every kernel may have
  std::vector<CUevent> events_;
  std::size_t used_events_ = 0;
};

}  // namespace

CudaSurvey survey_cuda() {
  CudaSurvey survey{{"CUDA driver", {}, {}, {}}, {}, {}};
  try {
    const auto api = load_cuda();
    survey.driver = {"CUDA driver", driver_version(*api), api->library.path(), {}};
    const int count = count_gpus(*api);
    for (int i = 0; i < count; ++i) {
      DeviceFacts facts = facts_of(*api, i);
      std::string refusal = refusal_of(facts);
      survey.gpus.push_back({std::move(facts), std::move(refusal)});
    }
  } catch (const std::runtime_error& error) {  // a driver that fails is no reason not to say what else there is
    survey.problem = error.what();
  }
  return survey;
}

std::unique_ptr<Driver> open_cuda(int index) {
  auto api = load_cuda();
  const int count = count_gpus(*api);
  if (index < 0 || index >= count) throw UserError("{}", no_such_gpu("cuda", index, count, api->library.path()));
  DeviceFacts facts = facts_of(*api, index);
  if (const std::string refusal = refusal_of(facts); !refusal.empty()) throw UserError("{}", refusal);
  return std::make_unique<CudaDriver>(std::move(api), std::move(facts), index);
}

}  // namespace octet::gpu
