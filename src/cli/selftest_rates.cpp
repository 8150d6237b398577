#include "cli/selftest_rates.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "cli/op_timer.h"
#include "cli/rate_ceilings.h"
#include "cli/step_ops.h"
#include "fp8/recipe.h"

namespace octet::cli {
namespace {

using Index = std::int64_t;

/// A linear layer's W [n, k].
struct LayerShape {
  std::string_view name;
  Index n, k;
};

struct Sizes {
  Index copied_bytes;
  Index cast_rows, cast_cols;
  Index tokens;
  std::array<LayerShape, 3> layers;
  Index heads, kv_heads, head_dim;
};

/// Casts are those of an expert layer's input in DeepSeek-V3, the rest Llama 3 8B's.
constexpr Sizes kFull{.copied_bytes = Index{1} << 30,
                      .cast_rows = 32768,
                      .cast_cols = 7168,
                      .tokens = 8192,
                      .layers = {{{"wqkv", 6144, 4096}, {"w13", 28672, 4096}, {"w2", 4096, 14336}}},
                      .heads = 32,
                      .kv_heads = 8,
                      .head_dim = 128};
/// A sixteenth, the copy in both directions; of the heads one group is left, whole.
constexpr Sizes kQuick{.copied_bytes = Index{1} << 22,
                       .cast_rows = 2048,
                       .cast_cols = 448,
                       .tokens = 512,
                       .layers = {{{"wqkv", 384, 256}, {"w13", 1792, 256}, {"w2", 256, 896}}},
                       .heads = 4,
                       .kv_heads = 1,
                       .head_dim = 128};

/// The layer whose three products are measured; of the others it is the forward one.
constexpr std::string_view kLargestLayer = "w13";

enum class Role : std::uint8_t { forward, dgrad, wgrad };

constexpr std::string_view name_of(Role role) {
  constexpr std::array<std::string_view, 3> kNames{"forward", "dgrad", "wgrad"};
  return kNames[static_cast<std::size_t>(role)];
}

const fp8::Gemm& product_of(const fp8::Recipe& recipe, Role role) {
  if (role == Role::forward) return recipe.forward;
  return role == Role::dgrad ? recipe.dgrad : recipe.wgrad;
}

ops::GemmOperand operand_of(const fp8::Operand& operand, fp8::FormatFamily family, bool transposed) {
  const auto format = fp8::format_of(operand.precision, family);
  if (!format) return {.transposed = transposed};  // bf16 lies as the step has it, codes along the contraction
  return {.dtype = dtype_of(*format), .axis = operand.scale_axis};
}

/// Y = X W^T, dX = dY W or dW = dY^T X of a layer over so many tokens.
ops::Gemm gemm_of(const fp8::Recipe& recipe, Role role, const LayerShape& layer, Index tokens,
                  fp8::FormatFamily family) {
  const fp8::Gemm& product = product_of(recipe, role);
  ops::Gemm gemm{};
  gemm.a = operand_of(product.left, family, role == Role::wgrad);
  gemm.b = operand_of(product.right, family, role != Role::forward);
  gemm.m = role == Role::wgrad ? layer.n : tokens;
  gemm.n = role == Role::forward ? layer.n : layer.k;
  gemm.k = role == Role::forward ? layer.k : role == Role::dgrad ? layer.n : tokens;
  gemm.d_dtype = role == Role::wgrad ? DType::f32 : DType::bf16;
  gemm.accumulation = product.accumulation;
  return gemm;
}

class RateMeter {
 public:
  RateMeter(const ops::Backend& backend, const Sizes& sizes)
      : backend_(backend),
        sizes_(sizes),
        ceilings_(rate_ceilings(backend.device().arch())),
        family_(backend.device().families().front()),
        timer_(backend) {}

  void copy() {
    add_moved("copy", "copy", ops::Copy{nullptr, nullptr, sizes_.copied_bytes});
    copy_rate_ = rates_.back().rate();
    rates_.back().of_copy = 1;
  }

  /// One scale for each row of codes that a product reads: by rows as they lie, and of columns, transposed.
  void casts() {
    const auto rule = fp8::ScaleRule::of(fp8::forward_format(family_), true);
    ops::QuantizeRows rows{};
    rows.codes = {.rule = rule, .wanted = true};
    ops::Maxima maxima{};
    rows.rows = maxima.rows = sizes_.cast_rows;
    rows.cols = maxima.cols = sizes_.cast_cols;
    const ops::Cast columns{nullptr, nullptr,          nullptr,         {}, {.axis = fp8::ScaleAxis::row},
                            rule,    sizes_.cast_rows, sizes_.cast_cols};
    add_moved("cast", "row cast", rows);
    add_moved("cast", "maxima", maxima);
    add_moved("cast", "transposing cast", columns);
  }

  void products() {
    for (const std::string_view recipe : {"bf16", "tensorwise", "rowwise"}) {
      for (const LayerShape& layer : sizes_.layers) {
        for (const Role role : {Role::forward, Role::dgrad, Role::wgrad}) {
          if (role != Role::forward && layer.name != kLargestLayer) continue;
          add_computed("product", fmt::format("{} {} {}", recipe, layer.name, name_of(role)),
                       gemm_of(*fp8::find_recipe(recipe), role, layer, sizes_.tokens, family_));
        }
      }
    }
  }

  void attention() {
    const ops::AttentionShape shape{1, sizes_.tokens, sizes_.heads, sizes_.kv_heads, sizes_.head_dim};
    const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(sizes_.head_dim)));
    ops::AttentionForward forward{};
    forward.shape = shape;
    forward.scale = scale;
    ops::AttentionBackward backward{};
    backward.shape = shape;
    backward.scale = scale;
    add_computed("attention", "attention forward", forward);
    add_computed("attention", "attention backward", backward);
  }

  [[nodiscard]] std::vector<MeasuredRate> take() { return std::move(rates_); }

 private:
  template <typename Op>
  void add_moved(std::string_view kind, std::string_view what, const Op& op) {
    MeasuredRate& rate = add(kind, what, op);
    if (!rate.left_out.empty()) return;
    rate.of_copy = rate.rate() / copy_rate_;
    rate.doubt = doubt_about(rate.rate(), ceilings_.bytes);
  }

  template <typename Op>
  void add_computed(std::string_view kind, std::string_view what, const Op& op) {
    MeasuredRate& rate = add(kind, what, op);
    if (!rate.left_out.empty()) return;
    rate.flops = op.flops();
    bool fp8 = false;
    if constexpr (requires { op.is_fp8(); }) fp8 = op.is_fp8();
    rate.doubt = doubt_about(rate.rate(), fp8 ? ceilings_.fp8_flops : ceilings_.bf16_flops);
  }

  template <typename Op>
  MeasuredRate& add(std::string_view kind, std::string_view what, const Op& op) {
    MeasuredRate& rate = rates_.emplace_back();
    rate.kind = kind;
    rate.what = what;
    rate.text = cli::describe(op);
    rate.bytes = op.bytes();
    if (!backend_.supports<Op>()) {
      rate.left_out = fmt::format("the {} backend has no {}", backend_.name(), Op::name);
    } else if (const char* reason = backend_.refusal(op)) {
      rate.left_out = reason;
    } else {
      rate.seconds = timer_.time(op).seconds.median;
    }
    return rate;
  }

  const ops::Backend& backend_;
  const Sizes& sizes_;
  RateCeilings ceilings_;
  fp8::FormatFamily family_;
  OpTimer timer_;
  double copy_rate_ = 0;
  std::vector<MeasuredRate> rates_;
};

}  // namespace

std::vector<MeasuredRate> measure_rates(const ops::Backend& backend, RateSizes sizes,
                                        const std::function<void(std::string_view)>& progress) {
  RateMeter meter(backend, sizes == RateSizes::full ? kFull : kQuick);
  progress("rates of copies and casts");
  meter.copy();
  meter.casts();
  progress("rates of products");
  meter.products();
  progress("rates of attention");
  meter.attention();
  return meter.take();
}

std::string rates_text(const std::vector<MeasuredRate>& rates) {
  std::string text = fmt::format("\n{:<24} {:>10} {:>10} {:>9} {:>8}\n", "rate of", "us", "GB/s", "TFLOP/s", "of copy");
  for (const MeasuredRate& rate : rates) {
    if (!rate.left_out.empty()) {
      text += fmt::format("{:<24} left out: {}  {}\n", rate.what, rate.left_out, rate.text);
      continue;
    }
    const std::string figures =
        rate.flops > 0 ? fmt::format("{:>10} {:>9.3f} {:>8}", "", rate.rate() / 1e12, "")
                       : fmt::format("{:>10.1f} {:>9} {:>7.0f}%", rate.rate() / 1e9, "", 100 * rate.of_copy);
    text += fmt::format("{:<24} {:>10.1f} {}  {}\n", rate.what, rate.seconds * 1e6, figures, rate.text);
    if (!rate.doubt.empty()) text += fmt::format("  IMPOSSIBLE: {}\n", rate.doubt);
  }
  return text;
}

nlohmann::ordered_json rates_json(const std::vector<MeasuredRate>& rates) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const MeasuredRate& rate : rates) {
    nlohmann::ordered_json row = {{"kind", rate.kind}, {"what", rate.what}, {"text", rate.text}};
    if (!rate.left_out.empty()) {
      row["left_out"] = rate.left_out;
    } else {
      row["seconds"] = rate.seconds;
      row["bytes"] = rate.bytes;
      if (rate.flops > 0) {
        row["flops"] = rate.flops;
        row["flops_per_second"] = rate.rate();
      } else {
        row["bytes_per_second"] = rate.rate();
        row["share_of_copy"] = rate.of_copy;
      }
      row["doubt"] = rate.doubt;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace octet::cli
