// Attention by cuDNN, found when the program runs. The only file that knows cudnn-frontend, NVIDIA's headers that turn
// a description of attention into cuDNN's graphs.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/error.h"
#include "gpu/attention.h"
#include "gpu/dynamic_library.h"

/// Where cudnn-frontend looks for cuDNN's functions. It keeps their addresses, so that the library stays loaded.
void* cudnn_frontend::cudnn_dlhandle = nullptr;

namespace octet::gpu {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

constexpr std::size_t kOldestVersion = 90500;

/// Deterministic backward of older versions writes score gradients of S x S. Beyond this, kernels that write none are
/// the better choice.
constexpr std::size_t kMostDeterministicBytes = std::size_t{1} << 30U;

enum Role : std::int64_t { kQueries = 1, kKeys, kValues, kOut, kLse, kDout, kDqueries, kDkeys, kDvalues };

std::string version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

/// The sizes and strides of heads of `dim` elements that lie interleaved in rows of `row`.
struct Heads {
  std::vector<std::int64_t> sizes, strides;

  Heads(const AttentionShape& shape, std::int64_t heads, std::int64_t dim, std::int64_t row)
      : sizes{shape.batch, heads, shape.seq_len, dim}, strides{shape.seq_len * row, dim, row, 1} {}
};

/// A graph of one direction for one shape, and where each head's first element lies.
class GraphMaker {
 public:
  explicit GraphMaker(const AttentionShape& shape)
      : shape_(shape),
        qkv_row_((shape.heads + shape.kv_heads) * shape.head_dim + shape.kv_heads * shape.value_dim),
        out_row_(shape.heads * shape.value_dim),
        graph_(std::make_unique<fe::graph::Graph>()) {
    graph_->set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  [[nodiscard]] std::unique_ptr<fe::graph::Graph> forward() && {
    auto options = fe::graph::SDPA_attributes()
                       .set_name("attention")
                       .set_generate_stats(true)
                       .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
                       .set_diagonal_band_right_bound(0)
                       .set_attn_scale(shape_.scale);
    auto [out, lse] = graph_->sdpa(input(kQueries), input(kKeys), input(kValues), std::move(options));
    make_output(out, kOut);
    make_output(lse, kLse);
    return std::move(graph_);
  }

  [[nodiscard]] std::unique_ptr<fe::graph::Graph> backward(bool deterministic) && {
    auto options = fe::graph::SDPA_backward_attributes()
                       .set_name("attention_backward")
                       .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
                       .set_diagonal_band_right_bound(0)
                       .set_attn_scale(shape_.scale)
                       .set_deterministic_algorithm(deterministic);
    auto [dq, dk, dv] = graph_->sdpa_backward(input(kQueries), input(kKeys), input(kValues), input(kOut), input(kDout),
                                              input(kLse), std::move(options));
    make_output(dq, kDqueries);
    make_output(dk, kDkeys);
    make_output(dv, kDvalues);
    return std::move(graph_);
  }

 private:
  [[nodiscard]] Heads heads(Role role) const {
    switch (role) {
      case kQueries:
      case kDqueries:
        return {shape_, shape_.heads, shape_.head_dim, qkv_row_};
      case kOut:
      case kDout:
        return {shape_, shape_.heads, shape_.value_dim, out_row_};
      case kValues:
      case kDvalues:
        return {shape_, shape_.kv_heads, shape_.value_dim, qkv_row_};
      default:
        return {shape_, shape_.kv_heads, shape_.head_dim, qkv_row_};
    }
  }

  void describe(fe::graph::Tensor_attributes& tensor, Role role) const {
    tensor.set_uid(role);
    if (role == kLse) {
      tensor.set_data_type(fe::DataType_t::FLOAT)
          .set_dim({shape_.batch, shape_.heads, shape_.seq_len, 1})
          .set_stride({shape_.heads * shape_.seq_len, shape_.seq_len, 1, 1});
      return;
    }
    const Heads place = heads(role);
    tensor.set_data_type(fe::DataType_t::BFLOAT16).set_dim(place.sizes).set_stride(place.strides);
  }

  [[nodiscard]] Tensor input(Role role) {
    fe::graph::Tensor_attributes tensor;
    describe(tensor, role);
    return graph_->tensor(tensor);
  }

  void make_output(const Tensor& tensor, Role role) const {
    tensor->set_output(true);
    describe(*tensor, role);
  }

  AttentionShape shape_;
  std::int64_t qkv_row_, out_row_;
  std::unique_ptr<fe::graph::Graph> graph_;
};

/// What cuDNN has for a shape: a graph that it can run, or why not.
struct Plan {
  std::unique_ptr<fe::graph::Graph> graph;  // null where there is a refusal
  std::size_t workspace_bytes = 0;
  std::string refusal;
};

/// The functions of cuDNN that do not go through cudnn-frontend.
struct CudnnApi {
  DynamicLibrary cudnn;
  DynamicLibrary runtime;  // libcudart, which cudnn-frontend expects to find loaded
  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) get_error_string = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;

  CudnnApi(DynamicLibrary found, DynamicLibrary found_runtime)
      : cudnn(std::move(found)), runtime(std::move(found_runtime)) {
    cudnn.bind("cudnnGetVersion", get_version);
    cudnn.bind("cudnnGetErrorString", get_error_string);
    cudnn.bind("cudnnCreate", create);
    cudnn.bind("cudnnDestroy", destroy);
    cudnn.bind("cudnnSetStream", set_stream);
  }

  void check_status(cudnnStatus_t status, const char* what) const {
    if (status != CUDNN_STATUS_SUCCESS) throw DeviceFault("cuDNN failed at {}: {}", what, get_error_string(status));
  }
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// Whether all that went wrong is "not supported": cudnn-frontend says so of a graph, cuDNN of each thing that it does
/// not make. Heuristics without a proposal, and proposals that are put aside, come without a status.
bool is_refusal(fe::error_t& error) {
  constexpr std::string_view kStatus = "CUDNN_STATUS_";
  using enum fe::error_code_t;
  const fe::error_code_t code = error.get_code();
  if (code == GRAPH_NOT_SUPPORTED) return true;
  const std::string message = error.get_message();
  bool has_status = false;
  for (std::size_t at = message.find(kStatus); at != std::string::npos; at = message.find(kStatus, at)) {
    at += kStatus.size();
    if (!std::string_view(message).substr(at).starts_with("NOT_SUPPORTED")) return false;
    has_status = true;
  }
  return code == CUDNN_BACKEND_API_FAILED
             ? has_status
             : code == HEURISTIC_QUERY_FAILED || code == GRAPH_EXECUTION_PLAN_CREATION_FAILED;
}

class CudnnAttention final : public AttentionLibrary {
 public:
  CudnnAttention(CudnnApi api, const Driver& driver, bool deterministic)
      : api_(std::move(api)), deterministic_(deterministic) {
    fe::cudnn_dlhandle = api_.cudnn.keep_loaded();
    (void)api_.runtime.keep_loaded();
    api_.check_status(api_.create(&handle_), "starting");
    api_.check_status(api_.set_stream(handle_, static_cast<cudaStream_t>(driver.native_stream())), "taking the stream");
  }
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;
  ~CudnnAttention() override {
    forward_.clear();  // plans end before the handle that made them
    backward_.clear();
    api_.destroy(handle_);
  }

  [[nodiscard]] std::string description() const override {
    std::string text = fmt::format("cuDNN {}{} ({})", version_text(api_.get_version()),
                                   deterministic_ ? ", deterministic" : "", api_.cudnn.path());
    describe_refusals(forward_, "attention", text);
    describe_refusals(backward_, "its backward", text);
    return text;
  }

  [[nodiscard]] std::optional<std::size_t> forward_workspace(const AttentionShape& shape) override {
    return workspace(forward_plan(shape));
  }
  [[nodiscard]] std::optional<std::size_t> backward_workspace(const AttentionShape& shape) override {
    return workspace(backward_plan(shape));
  }

  void forward(const AttentionShape& shape, const AttentionForwardData& data, void* workspace) override {
    Places places = places_in_qkv(shape, data.qkv, {kQueries, kKeys, kValues});
    places[kOut] = data.out;
    places[kLse] = data.lse;
    run(forward_plan(shape), places, workspace);
  }

  void backward(const AttentionShape& shape, const AttentionBackwardData& data, void* workspace) override {
    Places places = places_in_qkv(shape, data.qkv, {kQueries, kKeys, kValues});
    places.merge(places_in_qkv(shape, data.dqkv, {kDqueries, kDkeys, kDvalues}));
    places[kOut] = const_cast<void*>(data.out);
    places[kDout] = const_cast<void*>(data.dout);
    places[kLse] = const_cast<float*>(data.lse);
    run(backward_plan(shape), places, workspace);
  }

 private:
  using Places = std::unordered_map<std::int64_t, void*>;
  using Plans = std::map<AttentionShape, Plan>;

  static Places places_in_qkv(const AttentionShape& shape, const void* qkv, const std::array<Role, 3>& roles) {
    constexpr std::int64_t kBytes = 2;
    auto* first = static_cast<std::byte*>(const_cast<void*>(qkv));
    return {{roles[0], first},
            {roles[1], first + shape.heads * shape.head_dim * kBytes},
            {roles[2], first + (shape.heads + shape.kv_heads) * shape.head_dim * kBytes}};
  }

  static std::optional<std::size_t> workspace(const Plan& plan) {
    if (plan.graph == nullptr) return std::nullopt;
    return plan.workspace_bytes;
  }

  static void describe_refusals(const Plans& plans, const char* what, std::string& text) {
    for (const auto& [shape, plan] : plans) {
      if (plan.graph != nullptr) continue;
      text += fmt::format(", own kernels for {} of {} x {} tokens, {} heads on {} of {} and {} (cuDNN: {})", what,
                          shape.batch, shape.seq_len, shape.heads, shape.kv_heads, shape.head_dim, shape.value_dim,
                          plan.refusal);
    }
  }

  [[nodiscard]] const Plan& forward_plan(const AttentionShape& shape) {
    const auto known = forward_.find(shape);
    if (known != forward_.end()) return known->second;
    return forward_[shape] = build(GraphMaker(shape).forward());
  }

  [[nodiscard]] const Plan& backward_plan(const AttentionShape& shape) {
    const auto known = backward_.find(shape);
    if (known != backward_.end()) return known->second;
    Plan plan = build(GraphMaker(shape).backward(deterministic_));
    if (deterministic_ && plan.workspace_bytes > kMostDeterministicBytes) {
      plan = {nullptr, 0, fmt::format("{} MiB of workspace to be deterministic", plan.workspace_bytes >> 20U)};
    }
    return backward_[shape] = std::move(plan);
  }

  [[nodiscard]] Plan build(std::unique_ptr<fe::graph::Graph> graph) const {
    fe::error_t built = graph->build(handle_, {fe::HeurMode_t::A});
    if (built.is_bad() && is_refusal(built)) return {nullptr, 0, first_line(built.get_message())};
    if (built.is_bad()) {
      throw Failure("cuDNN failed at planning attention: {}; OCTET_ATTENTION=own does without cuDNN",
                    one_line(built.get_message()));
    }
    std::int64_t bytes = 0;
    fe::error_t sized = graph->get_workspace_size(bytes);
    if (sized.is_bad()) throw Failure("cuDNN failed at sizing attention: {}", first_line(sized.get_message()));
    return {std::move(graph), static_cast<std::size_t>(bytes), ""};
  }

  void run(const Plan& plan, Places& places, void* workspace) const {
    check(plan.graph != nullptr, "cuDNN is asked only for what it has");
    fe::error_t ran = plan.graph->execute(handle_, places, workspace);
    if (ran.is_bad()) throw DeviceFault("cuDNN failed at attention: {}", first_line(ran.get_message()));
  }

  CudnnApi api_;
  bool deterministic_;
  cudnnHandle_t handle_ = nullptr;
  Plans forward_, backward_;
};

/// cuDNN with what it needs, or why attention cannot go through it.
struct FoundCudnn {
  std::optional<CudnnApi> api;
  std::string problem;
};

FoundCudnn search_cudnn() {
  constexpr std::array<std::string_view, 1> kCudnn{"libcudnn.so.9"};
  constexpr std::array<std::string_view, 2> kRuntime{"libcudart.so.13", "libcudart.so.12"};
  auto cudnn = DynamicLibrary::find(kCudnn, library_directories("cudnn"));
  if (!cudnn.library) return {std::nullopt, cudnn.problem + ": pip install nvidia-cudnn-cu13"};
  auto runtime = DynamicLibrary::find(kRuntime, library_directories("cuda_runtime"));
  if (!runtime.library) {
    return {std::nullopt, "cuDNN needs the CUDA runtime: " + runtime.problem + ": pip install nvidia-cuda-runtime"};
  }
  CudnnApi api(std::move(*cudnn.library), std::move(*runtime.library));
  if (api.get_version() < kOldestVersion) {
    return {std::nullopt, fmt::format("{} is {}, older than {}: pip install --upgrade nvidia-cudnn-cu13",
                                      api.cudnn.path(), version_text(api.get_version()), version_text(kOldestVersion))};
  }
  return {std::move(api), ""};
}

FoundCudnn find_cudnn() {
  try {
    return search_cudnn();
  } catch (const UserError& error) {  // a library without a function that it should have
    return {std::nullopt, error.what()};
  }
}

}  // namespace

FoundAttention find_cudnn_attention(const Driver& driver, bool deterministic) {
  FoundCudnn found = find_cudnn();
  if (!found.api) return {nullptr, found.problem};
  return {std::make_unique<CudnnAttention>(std::move(*found.api), driver, deterministic), ""};
}

VendorLibrary survey_cudnn() {
  const FoundCudnn found = find_cudnn();
  if (!found.api) return {"cuDNN", {}, {}, found.problem};
  return {"cuDNN", version_text(found.api->get_version()), found.api->cudnn.path(), {}};
}

}  // namespace octet::gpu
