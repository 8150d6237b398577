#include "gpu/hip/hipblaslt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "gpu/dynamic_library.h"
#include "gpu/hip/hip_types.h"
#include "gpu/hip/hipblaslt_types.h"
#include "gpu/product_key.h"

namespace octet::gpu {
namespace {

using hipblaslt::DataType;
using hipblaslt::DescAttribute;
using hipblaslt::Operation;
using hipblaslt::ScaleMode;
using hipblaslt::Status;

constexpr std::size_t kHipblasltWorkspace = std::size_t{32} << 20;  // what hipBLASLt's own clients give
constexpr int kFirstWithScaleModes = 100000;                        // 1.0.0: before, FP8 has one scale for an operand
constexpr int kMostHipblasltProposals = 8;

std::string_view name(Status status) {
  constexpr std::array<std::string_view, 9> kNames{"success",        "not initialized", "allocation failed",
                                                   "invalid value",  "mapping error",   "execution failed",
                                                   "internal error", "not supported",   "architecture mismatch"};
  const auto index = static_cast<std::size_t>(status);
  return index < kNames.size() ? kNames[index] : "unknown status";
}

/// The functions of hipBLASLt that we call.
struct HipblasltApi {
  DynamicLibrary library;
  Status (*get_version)(hipblaslt::Handle handle, int* version) = nullptr;
  Status (*create)(hipblaslt::Handle* handle) = nullptr;
  Status (*destroy)(hipblaslt::Handle handle) = nullptr;
  Status (*desc_create)(hipblaslt::Desc* desc, hipblaslt::ComputeType compute, DataType scale) = nullptr;
  Status (*desc_destroy)(hipblaslt::Desc desc) = nullptr;
  Status (*desc_set)(hipblaslt::Desc desc, DescAttribute attribute, const void* value, std::size_t bytes) = nullptr;
  Status (*layout_create)(hipblaslt::Layout* layout, DataType type, std::uint64_t rows, std::uint64_t cols,
                          std::int64_t leading) = nullptr;
  Status (*layout_destroy)(hipblaslt::Layout layout) = nullptr;
  Status (*preference_create)(hipblaslt::Preference* preference) = nullptr;
  Status (*preference_destroy)(hipblaslt::Preference preference) = nullptr;
  Status (*preference_set)(hipblaslt::Preference preference, hipblaslt::PreferenceAttribute attribute,
                           const void* value, std::size_t bytes) = nullptr;
  Status (*get_heuristic)(hipblaslt::Handle handle, hipblaslt::Desc desc, hipblaslt::Layout a, hipblaslt::Layout b,
                          hipblaslt::Layout c, hipblaslt::Layout d, hipblaslt::Preference preference, int most,
                          hipblaslt::HeuristicResult* results, int* found) = nullptr;
  Status (*matmul)(hipblaslt::Handle handle, hipblaslt::Desc desc, const void* alpha, const void* a,
                   hipblaslt::Layout layout_a, const void* b, hipblaslt::Layout layout_b, const void* beta,
                   const void* c, hipblaslt::Layout layout_c, void* d, hipblaslt::Layout layout_d,
                   const hipblaslt::Algorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                   hip::Stream stream) = nullptr;

  explicit HipblasltApi(DynamicLibrary found) : library(std::move(found)) {
    library.bind("hipblasLtGetVersion", get_version);
    library.bind("hipblasLtCreate", create);
    library.bind("hipblasLtDestroy", destroy);
    library.bind("hipblasLtMatmulDescCreate", desc_create);
    library.bind("hipblasLtMatmulDescDestroy", desc_destroy);
    library.bind("hipblasLtMatmulDescSetAttribute", desc_set);
    library.bind("hipblasLtMatrixLayoutCreate", layout_create);
    library.bind("hipblasLtMatrixLayoutDestroy", layout_destroy);
    library.bind("hipblasLtMatmulPreferenceCreate", preference_create);
    library.bind("hipblasLtMatmulPreferenceDestroy", preference_destroy);
    library.bind("hipblasLtMatmulPreferenceSetAttribute", preference_set);
    library.bind("hipblasLtMatmulAlgoGetHeuristic", get_heuristic);
    library.bind("hipblasLtMatmul", matmul);
  }

  void check_status(Status status, const char* what) const {
    if (status != Status::success) throw DeviceFault("hipBLASLt failed at {}: {}", what, name(status));
  }
};

/// UserError where there is none of use.
HipblasltApi load_hipblaslt() {
  constexpr std::array<std::string_view, 3> kNames{"libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so"};
  std::vector<std::string> directories = listed_directories();
  directories.emplace_back("/opt/rocm/lib");
  auto search = DynamicLibrary::find(kNames, directories);
  if (search.library) return HipblasltApi(std::move(*search.library));
  throw UserError(
      "{}: install ROCm's package hipblaslt, name the directory of the library in OCTET_LIBRARY_PATH, or do without: "
      "own kernels compute every product",
      search.problem);
}

/// What the library made for us, and how it wants it back.
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Status (*)(Handle)>;

/// A started library.
struct HipblasltSession {
  HipblasltApi api;
  Owned<hipblaslt::Handle> handle;
  int version = 0;

  HipblasltSession() : api(load_hipblaslt()), handle(nullptr, api.destroy) {
    hipblaslt::Handle made = nullptr;
    api.check_status(api.create(&made), "starting");
    handle.reset(made);
    api.check_status(api.get_version(made, &version), "asking for its version");
  }

  [[nodiscard]] std::string version_text() const {
    return fmt::format("{}.{}.{}", version / 100000, version % 100000 / 100, version % 100);
  }
  [[nodiscard]] std::string description() const {
    return fmt::format("hipBLASLt {}, {}, {}", version_text(), api.library.path(), kNotRunOnHardware);
  }
};

DataType hipblaslt_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return DataType::f32;
    case DType::bf16:
      return DataType::bf16;
    case DType::e4m3fn:
      return DataType::e4m3;
    case DType::e5m2:
      return DataType::e5m2;
    case DType::e4m3fnuz:
      return DataType::e4m3_fnuz;
    case DType::e5m2fnuz:
      return DataType::e5m2_fnuz;
    default:
      throw Failure("hipBLASLt has no products of {}", octet::name(dtype));
  }
}

/// A product as hipBLASLt sees it. Its matrices are column-major: our D [m, n] is its D^T [n, m], so that our B is its
/// first operand and our A its second.
class HipblasltPlan {
 public:
  HipblasltPlan(const HipblasltSession& session, const Product& p)
      : session_(session),
        api_(session.api),
        desc_(describe()),
        first_(layout(p.b, p.n, p.k)),
        second_(layout(p.a, p.m, p.k)),
        result_(layout(p.d_dtype, p.n, p.m)) {
    set(DescAttribute::transpose_a, p.b.transposed ? Operation::none : Operation::transpose);
    set(DescAttribute::transpose_b, p.a.transposed ? Operation::transpose : Operation::none);
    if (p.a.dtype != DType::bf16) describe_scales(p);
    propose();
    if (proposals_.empty()) {
      throw Failure("{} has no way to compute {}; OCTET_PRODUCTS=own does without it", session_.description(),
                    text_of(p));
    }
  }

  [[nodiscard]] int proposals() const { return static_cast<int>(proposals_.size()); }

  void run(const Product& p, int proposal, void* workspace, void* stream) {
    if (p.a.dtype != DType::bf16) set_scales(p);
    const auto chosen = static_cast<std::size_t>(std::min(proposal, proposals() - 1));
    const float one = 1.0F;
    const float beta = p.accumulate ? 1.0F : 0.0F;
    api_.check_status(
        api_.matmul(session_.handle.get(), desc_.get(), &one, p.b.data, first_.get(), p.a.data, second_.get(), &beta,
                    p.d, result_.get(), p.d, result_.get(), &proposals_[chosen].algorithm, workspace,
                    kHipblasltWorkspace, static_cast<hip::Stream>(stream)),
        "a product");
  }

 private:
  [[nodiscard]] Owned<hipblaslt::Desc> describe() const {
    hipblaslt::Desc made = nullptr;
    api_.check_status(api_.desc_create(&made, hipblaslt::ComputeType::f32, DataType::f32), "describing a product");
    return {made, api_.desc_destroy};
  }
  /// Column-major, without gaps.
  [[nodiscard]] Owned<hipblaslt::Layout> layout(DType dtype, std::int64_t rows, std::int64_t cols) const {
    hipblaslt::Layout made = nullptr;
    api_.check_status(api_.layout_create(&made, hipblaslt_type(dtype), static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(cols), rows),
                      "describing a matrix");
    return {made, api_.layout_destroy};
  }
  /// [outer, k] row by row is a column-major k x outer; stored transposed it is outer x k.
  [[nodiscard]] Owned<hipblaslt::Layout> layout(const ProductOperand& operand, std::int64_t outer,
                                                std::int64_t k) const {
    return operand.transposed ? layout(operand.dtype, outer, k) : layout(operand.dtype, k, outer);
  }

  template <typename T>
  void set(DescAttribute attribute, const T& value) {
    api_.check_status(api_.desc_set(desc_.get(), attribute, &value, sizeof value), "describing a product");
  }

  /// One scale for an operand is what FP8 has where no mode is set.
  void describe_scales(const Product& p) {
    if (p.a.axis == fp8::ScaleAxis::row) {
      if (session_.version < kFirstWithScaleModes) {
        throw UserError(
            "{} cannot scale FP8 by rows, which takes 1.0.0 or newer (ROCm 7): OCTET_PRODUCTS=own does without it",
            session_.description());
      }
      set(DescAttribute::a_scale_mode, ScaleMode::outer_vector_f32);
      set(DescAttribute::b_scale_mode, ScaleMode::outer_vector_f32);
    }
    set_scales(p);  // the heuristic wants to see pointers
  }
  void set_scales(const Product& p) {
    set(DescAttribute::a_scale_pointer, static_cast<const void*>(p.b.scale_inverse));
    set(DescAttribute::b_scale_pointer, static_cast<const void*>(p.a.scale_inverse));
  }

  void propose() {
    hipblaslt::Preference made = nullptr;
    api_.check_status(api_.preference_create(&made), "stating preferences");
    const Owned<hipblaslt::Preference> preference(made, api_.preference_destroy);
    api_.check_status(api_.preference_set(made, hipblaslt::PreferenceAttribute::max_workspace_bytes,
                                          &kHipblasltWorkspace, sizeof kHipblasltWorkspace),
                      "stating preferences");
    proposals_.resize(kMostHipblasltProposals);
    int found = 0;
    const Status status =
        api_.get_heuristic(session_.handle.get(), desc_.get(), first_.get(), second_.get(), result_.get(),
                           result_.get(), made, kMostHipblasltProposals, proposals_.data(), &found);
    proposals_.resize(
        status == Status::success ? static_cast<std::size_t>(std::clamp(found, 0, kMostHipblasltProposals)) : 0);
    std::erase_if(proposals_, [](const hipblaslt::HeuristicResult& each) { return each.state != Status::success; });
  }

  const HipblasltSession& session_;
  const HipblasltApi& api_;
  Owned<hipblaslt::Desc> desc_;
  Owned<hipblaslt::Layout> first_, second_, result_;
  std::vector<hipblaslt::HeuristicResult> proposals_;
};

class FoundHipblaslt final : public HipblasLt {
 public:
  explicit FoundHipblaslt(Driver& driver) : driver_(driver) {}

  [[nodiscard]] std::size_t workspace_bytes() const override { return kHipblasltWorkspace; }
  [[nodiscard]] int proposals(const Product& product) override { return plan(product).proposals(); }
  void run(const Product& product, int proposal, void* workspace) override {
    plan(product).run(product, proposal, workspace, driver_.native_stream());
  }
  [[nodiscard]] int version() const override { return session_.version; }
  [[nodiscard]] std::string description() const override { return session_.description(); }

 private:
  [[nodiscard]] HipblasltPlan& plan(const Product& product) {
    const ProductKey key = product_key(product);
    if (const auto known = plans_.find(key); known != plans_.end()) return *known->second;
    return *plans_.emplace(key, std::make_unique<HipblasltPlan>(session_, product)).first->second;
  }

  Driver& driver_;
  HipblasltSession session_;
  std::map<ProductKey, std::unique_ptr<HipblasltPlan>> plans_;  // destroyed before the session
};

}  // namespace

std::unique_ptr<HipblasLt> open_hipblaslt(Driver& driver) {
  return std::make_unique<FoundHipblaslt>(driver);
}

VendorLibrary survey_hipblaslt() {
  VendorLibrary survey{"hipBLASLt", {}, {}, {}, kNotRunOnHardware};
  try {
    const HipblasltSession session;
    survey.version = session.version_text();
    survey.path = session.api.library.path();
  } catch (const std::runtime_error& error) {
    survey.problem = error.what();
  }
  return survey;
}

}  // namespace octet::gpu
