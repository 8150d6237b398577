#include "gpu/hip/hip_driver.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "core/error.h"
#include "gpu/complaints.h"
#include "gpu/hip/code_objects.h"
#include "gpu/hip/hip_api.h"

namespace octet::gpu {
namespace {

using hip::Result;

/// A device and its one stream.
class HipStream {
 public:
  HipStream(std::shared_ptr<const HipApi> api, int index) : api_(std::move(api)) {
    api_->check_result(api_->set_device(index), "choosing the device");
    api_->check_result(api_->stream_create(&stream_, hip::kStreamNonBlocking), "making a stream");
  }
  HipStream(const HipStream&) = delete;
  HipStream& operator=(const HipStream&) = delete;
  ~HipStream() { api_->stream_destroy(stream_); }

  [[nodiscard]] const HipApi& api() const { return *api_; }
  [[nodiscard]] hip::Stream get() const { return stream_; }

 private:
  std::shared_ptr<const HipApi> api_;
  hip::Stream stream_ = nullptr;
};

/// What a capture has left, made ready to run.
class HipGraph final : public Graph {
 public:
  /// Frees `captured`. Throws DeviceFault where the runtime makes nothing of it.
  HipGraph(std::shared_ptr<const HipStream> stream, hip::GraphHandle captured) : stream_(std::move(stream)) {
    std::size_t nodes = 0;
    Result result = api().graph_get_nodes(captured, nullptr, &nodes);
    if (result == Result::success) result = api().graph_instantiate(&exec_, captured, nullptr, nullptr, 0);
    api().graph_destroy(captured);
    api().check_result(result, "making a graph of what was captured");
    launches_ = static_cast<std::int64_t>(nodes);
  }
  HipGraph(const HipGraph&) = delete;
  HipGraph& operator=(const HipGraph&) = delete;
  ~HipGraph() override { api().graph_exec_destroy(exec_); }

  [[nodiscard]] std::int64_t launches() const override { return launches_; }
  [[nodiscard]] hip::GraphExec exec() const { return exec_; }

 private:
  [[nodiscard]] const HipApi& api() const { return stream_->api(); }

  std::shared_ptr<const HipStream> stream_;
  hip::GraphExec exec_ = nullptr;
  std::int64_t launches_ = 0;
};

/// HIP's copies take what they read as if they wrote it.
void* readable(const void* from) {
  return const_cast<void*>(from);
}

class HipDriver final : public Driver {
 public:
  HipDriver(std::shared_ptr<const HipApi> api, DeviceFacts facts, int index)
      : facts_(std::move(facts)), stream_(std::make_shared<HipStream>(std::move(api), index)) {
    for (const CodeObject& object : code_objects()) {
      if (object.arch == facts_.arch) load(object);
    }
  }
  HipDriver(const HipDriver&) = delete;
  HipDriver& operator=(const HipDriver&) = delete;
  ~HipDriver() override {
    for (const hip::Event event : events_) api().event_destroy(event);
    for (const hip::Module module : modules_) api().module_unload(module);
  }

  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }
  [[nodiscard]] DeviceMemory memory() const override {
    DeviceMemory memory;
    api().check_result(api().mem_get_info(&memory.free_bytes, &memory.total_bytes), "asking for free memory");
    return memory;
  }

  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
    void* pointer = nullptr;
    const Result result = api().malloc(&pointer, bytes);
    if (result == Result::out_of_memory) throw UserError("{}", out_of_memory(facts_, memory(), bytes));
    api().check_result(result, "allocating memory");
    return {static_cast<std::byte*>(pointer),
            [stream = stream_](std::byte* memory) { (void)stream->api().free(memory); }};
  }

  /// The host's own pages, which the device reads and writes where they are.
  [[nodiscard]] std::shared_ptr<std::byte> allocate_shared(std::size_t bytes) override {
    void* pointer = nullptr;
    api().check_result(api().host_malloc(&pointer, bytes, 0), "allocating shared memory");
    return {static_cast<std::byte*>(pointer),
            [stream = stream_](std::byte* memory) { (void)stream->api().host_free(memory); }};
  }

  void upload(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    api().check_result(api().memcpy_to_device(to, readable(from), bytes, stream()), "copying to the device");
    finish();  // the runtime may read pageable memory later than it returns
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    api().check_result(api().memcpy_to_host(to, readable(from), bytes, stream()), "copying to the host");
    finish();
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    api().check_result(api().memcpy_on_device(to, readable(from), bytes, stream()), "copying");
  }
  void zero(void* to, std::size_t bytes) override {
    if (bytes == 0) return;
    api().check_result(api().memset_bytes(to, 0, bytes, stream()), "clearing memory");
  }

  /// Looks through the code objects the first time that it is asked for a name.
  [[nodiscard]] Kernel kernel(const std::string& name) override {
    if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second;
    for (const hip::Module module : modules_) {
      hip::Function function = nullptr;
      const Result result = api().module_get_function(&function, module, name.c_str());
      if (result == Result::not_found) continue;
      api().check_result(result, "looking for {}", name);
      names_[function] = name;
      return kernels_[name] = Kernel{function};
    }
    throw Failure("no code object for {} has {}", facts_.arch, name);
  }

  void launch(Kernel kernel, const LaunchShape& shape, const void* arguments, std::size_t bytes) override {
    auto* function = static_cast<hip::Function>(kernel.handle);
    std::array<void*, 5> extra{reinterpret_cast<void*>(hip::kArgumentsPointer), const_cast<void*>(arguments),
                               reinterpret_cast<void*>(hip::kArgumentsSize), &bytes,
                               reinterpret_cast<void*>(hip::kArgumentsEnd)};
    const Result result = api().launch_kernel(function, shape.blocks_x, shape.blocks_y, 1, shape.threads, 1, 1,
                                              shape.shared_bytes, stream(), nullptr, extra.data());
    if (result == Result::success) return;
    api().check_result(result, "launching {} of {} x {} blocks, {} threads, {} bytes of LDS, {} bytes of arguments",
                       names_.at(function), shape.blocks_x, shape.blocks_y, shape.threads, shape.shared_bytes, bytes);
  }

  void finish() override { api().check_result(api().stream_synchronize(stream()), "waiting for its work"); }

  [[nodiscard]] TimeMark mark() override {
    if (used_events_ == events_.size()) {
      hip::Event event = nullptr;
      api().check_result(api().event_create(&event), "making an event");
      events_.push_back(event);
    }
    api().check_result(api().event_record(events_[used_events_], stream()), "recording an event");
    return {static_cast<std::int64_t>(used_events_++)};
  }
  [[nodiscard]] double seconds(TimeMark from, TimeMark to) override {
    const hip::Event end = events_.at(static_cast<std::size_t>(to.index));
    api().check_result(api().event_synchronize(end), "waiting for an event");
    float milliseconds = 0;
    api().check_result(api().event_elapsed(&milliseconds, events_.at(static_cast<std::size_t>(from.index)), end),
                       "reading an event");
    return static_cast<double>(milliseconds) * 1e-3;
  }
  void forget_marks() override { used_events_ = 0; }

  void begin_capture() override {
    api().check_result(api().begin_capture(stream(), hip::CaptureMode::of_thread), "beginning a capture");
  }
  [[nodiscard]] std::unique_ptr<Graph> end_capture() override {
    hip::GraphHandle graph = nullptr;
    api().check_result(api().end_capture(stream(), &graph), "ending a capture");
    return std::make_unique<HipGraph>(stream_, graph);
  }
  void abandon_capture() noexcept override {
    hip::GraphHandle graph = nullptr;
    if (api().end_capture(stream(), &graph) == Result::success && graph != nullptr) (void)api().graph_destroy(graph);
  }
  void replay(const Graph& graph) override {
    api().check_result(api().graph_launch(static_cast<const HipGraph&>(graph).exec(), stream()), "starting a graph");
  }

  [[nodiscard]] void* native_stream() const override { return stream(); }

 private:
  [[nodiscard]] const HipApi& api() const { return stream_->api(); }
  [[nodiscard]] hip::Stream stream() const { return stream_->get(); }

  void load(const CodeObject& object) {
    hip::Module module = nullptr;
    const Result result = api().module_load(&module, object.data);
    if (result == Result::no_binary_for_gpu) {
      throw UserError(
          "{} ({}) takes no code object of this octet, says {}: {}; install ROCm's newest runtime, or run on "
          "the CPU",
          facts_.name, facts_.arch, api().library.path(), api().describe(result));
    }
    api().check_result(result, "loading the kernels of {}", object.name);
    modules_.push_back(module);
  }

  DeviceFacts facts_;
  std::shared_ptr<HipStream> stream_;
  std::vector<hip::Module> modules_;
  std::map<std::string, Kernel, std::less<>> kernels_;  // that were asked for
  std::map<hip::Function, std::string> names_;
  std::vector<hip::Event> events_;
  std::size_t used_events_ = 0;
};

}  // namespace

HipSurvey survey_hip() {
  HipSurvey survey{{"HIP runtime", {}, {}, {}}, {}, {}};
  try {
    const auto api = load_hip();
    survey.runtime = {"HIP runtime", runtime_version(*api), api->library.path(), {}};
    const int count = count_gpus(*api);
    for (int i = 0; i < count; ++i) {
      DeviceFacts facts = facts_of(*api, i);
      std::string refusal = refusal_of_arch(facts);
      survey.gpus.push_back({std::move(facts), std::move(refusal)});
    }
  } catch (const std::runtime_error& error) {  // a runtime that fails is no reason not to say what else there is
    survey.problem = error.what();
  }
  return survey;
}

std::unique_ptr<Driver> open_hip(int index) {
  auto api = load_hip();
  const int count = count_gpus(*api);
  if (index < 0 || index >= count) throw UserError("{}", no_such_gpu("hip", index, count, api->library.path()));
  DeviceFacts facts = facts_of(*api, index);
  if (const std::string refusal = refusal_of_arch(facts); !refusal.empty()) throw UserError("{}", refusal);
  return std::make_unique<HipDriver>(std::move(api), std::move(facts), index);
}

}  // namespace octet::gpu
