#include "gpu/cuda/cublaslt.h"

#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/timing.h"
#include "gpu/cuda/cublaslt_algorithms.h"
#include "gpu/driver.h"
#include "gpu/dynamic_library.h"
#include "gpu/product_key.h"
#include "gpu/tuning.h"

namespace octet::gpu {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // what NVIDIA recommends for Hopper
constexpr std::size_t kOldestVersion = 120900;  // before, FP8 products had one scale for a whole operand
constexpr int kMostProposals = 8;

/// The functions of cuBLASLt that we call.
struct Api {
  DynamicLibrary library;
  decltype(&cublasLtGetVersion) get_version = nullptr;
  decltype(&cublasLtGetStatusName) get_status_name = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;

  explicit Api(DynamicLibrary found) : library(std::move(found)) {
    library.bind("cublasLtGetVersion", get_version);
    library.bind("cublasLtGetStatusName", get_status_name);
    library.bind("cublasLtCreate", create);
    library.bind("cublasLtDestroy", destroy);
    library.bind("cublasLtMatmulDescCreate", desc_create);
    library.bind("cublasLtMatmulDescDestroy", desc_destroy);
    library.bind("cublasLtMatmulDescSetAttribute", desc_set);
    library.bind("cublasLtMatrixLayoutCreate", layout_create);
    library.bind("cublasLtMatrixLayoutDestroy", layout_destroy);
    library.bind("cublasLtMatmulPreferenceCreate", preference_create);
    library.bind("cublasLtMatmulPreferenceDestroy", preference_destroy);
    library.bind("cublasLtMatmulPreferenceSetAttribute", preference_set);
    library.bind("cublasLtMatmulAlgoGetHeuristic", get_heuristic);
    library.bind("cublasLtMatmul", matmul);
  }

  void check_status(cublasStatus_t status, const char* what) const {
    if (status != CUBLAS_STATUS_SUCCESS) throw DeviceFault("cuBLASLt failed at {}: {}", what, get_status_name(status));
  }
};

std::string version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f32:
      return CUDA_R_32F;
    case DType::e4m3fn:
      return CUDA_R_8F_E4M3;
    case DType::e5m2:
      return CUDA_R_8F_E5M2;
    default:
      throw Failure("cuBLASLt has no products of {}", name(dtype));
  }
}

/// A product as cuBLASLt sees it. Its matrices are column-major: our D [m, n] is its D^T [n, m], so that our B is its
/// first operand and our A its second.
class Plan {
 public:
  Plan(const Api& api, cublasLtHandle_t handle, const Product& p) : api_(api) {
    const bool fp8 = p.a.dtype != DType::bf16;
    api_.check_status(api_.desc_create(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.b.transposed ? CUBLAS_OP_N : CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (fp8) {
      const std::int32_t mode = p.a.axis == fp8::ScaleAxis::row ? CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F
                                                                : CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
      set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode);
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{p.accumulation == fp8::Accumulation::fast});
      set_scales(p);  // the heuristic wants to see pointers
    }
    first_ = layout(p.b, p.n, p.k);
    second_ = layout(p.a, p.m, p.k);
    api_.check_status(api_.layout_create(&result_, data_type(p.d_dtype), static_cast<std::uint64_t>(p.n),
                                         static_cast<std::uint64_t>(p.m), p.n),
                      "describing a matrix");
    propose(handle);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    if (result_ != nullptr) api_.layout_destroy(result_);
    if (second_ != nullptr) api_.layout_destroy(second_);
    if (first_ != nullptr) api_.layout_destroy(first_);
    if (desc_ != nullptr) api_.desc_destroy(desc_);
  }

  [[nodiscard]] int proposals() const { return static_cast<int>(proposals_.size()); }
  [[nodiscard]] int chosen() const { return chosen_; }
  void choose(int proposal) { chosen_ = std::min(proposal, proposals() - 1); }

  void run(cublasLtHandle_t handle, const Product& p, void* workspace, void* stream) {
    if (p.a.dtype != DType::bf16) set_scales(p);
    const float one = 1.0F;
    const float beta = p.accumulate ? 1.0F : 0.0F;
    api_.check_status(api_.matmul(handle, desc_, &one, p.b.data, first_, p.a.data, second_, &beta, p.d, result_, p.d,
                                  result_, &proposals_[static_cast<std::size_t>(chosen_)].algo, workspace,
                                  kWorkspaceBytes, static_cast<cudaStream_t>(stream)),
                      "a product");
  }

 private:
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    api_.check_status(api_.desc_set(desc_, attribute, &value, sizeof value), "describing a product");
  }

  void set_scales(const Product& p) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(p.b.scale_inverse));
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(p.a.scale_inverse));
  }

  /// [outer, k] row by row is a column-major k x outer; stored transposed it is outer x k.
  [[nodiscard]] cublasLtMatrixLayout_t layout(const ProductOperand& operand, std::int64_t outer, std::int64_t k) const {
    const std::int64_t rows = operand.transposed ? outer : k;
    const std::int64_t cols = operand.transposed ? k : outer;
    cublasLtMatrixLayout_t made = nullptr;
    api_.check_status(api_.layout_create(&made, data_type(operand.dtype), static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(cols), rows),
                      "describing a matrix");
    return made;
  }

  void propose(cublasLtHandle_t handle) {
    cublasLtMatmulPreference_t preference = nullptr;
    api_.check_status(api_.preference_create(&preference), "stating preferences");
    api_.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes, sizeof kWorkspaceBytes);
    proposals_.resize(kMostProposals);
    int found = 0;
    const cublasStatus_t status = api_.get_heuristic(handle, desc_, first_, second_, result_, result_, preference,
                                                     kMostProposals, proposals_.data(), &found);
    api_.preference_destroy(preference);
    proposals_.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(found) : 0);
  }

  const Api& api_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr;
  cublasLtMatrixLayout_t second_ = nullptr;
  cublasLtMatrixLayout_t result_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> proposals_;
  int chosen_ = 0;
};

class CublasLt final : public Products {
 public:
  CublasLt(Driver& driver, Api api) : driver_(driver), api_(std::move(api)) {
    api_.check_status(api_.create(&handle_), "starting");
  }
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  ~CublasLt() override {
    plans_.clear();
    api_.destroy(handle_);
  }

  [[nodiscard]] std::size_t workspace_bytes() const override { return kWorkspaceBytes; }

  void run(const Product& product, void* workspace) override {
    const ProductKey key = product_key(product);
    auto& plan = plans_[key];
    if (plan) {
      plan->run(handle_, product, workspace, driver_.native_stream());
    } else {
      const double begin = monotonic_seconds();
      plan = make_plan(product);
      const double planned = monotonic_seconds();
      plan->run(handle_, product, workspace, driver_.native_stream());
      cold_starts_[key] = {planned - begin, monotonic_seconds() - planned};
    }
    last_[key] = {product, workspace};
  }

  [[nodiscard]] std::vector<TunedProduct> tune() override {
    std::vector<TunedProduct> tuned;
    for (const auto& [key, last] : last_) {
      const ColdStart& cold = cold_starts_.at(key);
      TunedProduct product = tune(*plans_.at(key), last);
      product.query_seconds = cold.query_seconds;
      product.first_run_seconds = cold.run_seconds;
      tuned.push_back(std::move(product));
    }
    untuned_.clear();  // all are measured now
    return tuned;
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("cuBLASLt {}, {}", version_text(api_.get_version()), api_.library.path());
  }
  [[nodiscard]] std::vector<std::string> untuned() const override { return {untuned_.begin(), untuned_.end()}; }

 private:
  struct Last {
    Product product;
    void* workspace;
  };

  struct ColdStart {
    double query_seconds = 0;
    double run_seconds = 0;
  };

  /// Times all proposals, then the first and the fastest once more: a gain that does not come again is noise.
  [[nodiscard]] TunedProduct tune(Plan& plan, const Last& last) {
    const Product& p = last.product;
    std::vector<double> seconds;
    for (int i = 0; i < plan.proposals(); ++i) seconds.push_back(median_seconds(plan, i, last));
    const auto best = static_cast<int>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
    TunedProduct tuned{.product = text_of(p),
                       .choice = {},
                       .first_seconds = median_seconds(plan, 0, last),
                       .seconds = median_seconds(plan, best, last)};
    const bool gains = seconds[0] > kWorthwhile * seconds[static_cast<std::size_t>(best)] &&
                       tuned.first_seconds > kWorthwhile * tuned.seconds;
    plan.choose(gains ? best : 0);
    if (gains) {
      tuned.choice = fmt::format("    {{{}, {}, {}, {}, '{}', '{}', '{}', {}}},  // {:.0f} us, first {:.0f}",
                                 api_.get_version(), p.m, p.n, p.k, operand_letter(p), layout_letter(p),
                                 output_letter(p), best, tuned.seconds * 1e6, tuned.first_seconds * 1e6);
    }
    return tuned;
  }

  double median_seconds(Plan& plan, int proposal, const Last& last) {
    plan.choose(proposal);
    return octet::gpu::median_seconds(
        driver_, [&] { plan.run(handle_, last.product, last.workspace, driver_.native_stream()); });
  }

  std::unique_ptr<Plan> make_plan(const Product& p) {
    auto plan = std::make_unique<Plan>(api_, handle_, p);
    if (plan->proposals() == 0) {
      throw Failure("{} has no way to compute [{}, {}] = [{}, {}] {} x [{}, {}] {}", description(), p.m, p.n, p.m, p.k,
                    name(p.a.dtype), p.n, p.k, name(p.b.dtype));
    }
    if (plan->proposals() == 1) return plan;  // nothing to choose
    const auto known = std::find_if(kCublasLtChoices.begin(), kCublasLtChoices.end(), [&](const CublasLtChoice& each) {
      return each.version == api_.get_version() && each.m == p.m && each.n == p.n && each.k == p.k &&
             each.operands == operand_letter(p) && each.layout == layout_letter(p) && each.output == output_letter(p);
    });
    if (known != kCublasLtChoices.end()) {
      plan->choose(known->choice);
    } else {
      untuned_.insert(text_of(p));
    }
    return plan;
  }

  Driver& driver_;
  Api api_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<ProductKey, std::unique_ptr<Plan>> plans_;
  std::map<ProductKey, ColdStart> cold_starts_;
  std::map<ProductKey, Last> last_;
  std::set<std::string> untuned_;
};

/// UserError where there is none of use.
Api load_cublaslt() {
  constexpr std::array<std::string_view, 2> kNames{"libcublasLt.so.13", "libcublasLt.so.12"};
  constexpr const char* kRemedy =
      "install PyPI's nvidia-cublas, or NVIDIA's package libcublas-13-0, which is part of the CUDA toolkit";
  auto search = DynamicLibrary::find(kNames, library_directories("cublas"));
  if (!search.library) {
    throw UserError("{}: {}; where it is not found, name its directory in OCTET_LIBRARY_PATH", search.problem, kRemedy);
  }
  Api api(std::move(*search.library));
  const std::size_t version = api.get_version();
  if (version >= kOldestVersion) return api;
  throw UserError("{} is cuBLASLt {}, and FP8 products need {} or newer: {}", api.library.path(), version_text(version),
                  version_text(kOldestVersion), kRemedy);
}

}  // namespace

std::unique_ptr<Products> open_cublaslt(Driver& driver) {
  return std::make_unique<CublasLt>(driver, load_cublaslt());
}

VendorLibrary survey_cublaslt() {
  VendorLibrary survey{"cuBLASLt", {}, {}, {}};
  try {
    const Api api = load_cublaslt();
    survey.version = version_text(api.get_version());
    survey.path = api.library.path();
  } catch (const UserError& error) {
    survey.problem = error.what();
  }
  return survey;
}

}  // namespace octet::gpu
