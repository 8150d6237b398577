// octet bench moe: the feed-forward of a mixture of experts, forward and backward, in FP8 beside bf16, and beside FP8
// whose casts are passes of their own.
#include "cli/bench_moe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <vector>

#include "cli/bench_operands.h"
#include "cli/bench_timing.h"
#include "cli/op_timer.h"
#include "core/error.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

using Index = std::int64_t;
constexpr auto kFormat = DType::e4m3fn;

/// How many routed rows each expert gets.
struct Split {
  const char* name;
  std::vector<std::int32_t> sizes;
};

/// `rows` shared among `experts`: evenly; 64 and the rest in turn; all to one; every eighth expert alone has any.
std::vector<Split> splits_of(Index rows, Index experts) {
  const auto count = static_cast<std::size_t>(experts);
  const auto each = static_cast<std::int32_t>(rows / experts);
  std::vector<Split> splits{
      {"equal", std::vector<std::int32_t>(count, each)},
      {"skewed", std::vector<std::int32_t>(count, each)},
      {"one-hot", std::vector<std::int32_t>(count, 0)},
      {"many empty", std::vector<std::int32_t>(count, 0)},
  };
  const std::int32_t few = std::min(64, each);
  for (std::size_t e = 0; e + 1 < count; e += 2) {
    splits[1].sizes[e] = few;
    splits[1].sizes[e + 1] = 2 * each - few;
  }
  splits[2].sizes[count / 2] = static_cast<std::int32_t>(rows);
  const std::size_t stride = std::min<std::size_t>(8, count);
  for (std::size_t e = stride - 1; e < count; e += stride) {
    splits[3].sizes[e] = static_cast<std::int32_t>(rows / (experts / static_cast<Index>(stride)));
  }
  return splits;
}

enum class Kind : std::uint8_t { fp8, fp8_apart, bf16 };

constexpr std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"FP8", "FP8, casts apart", "bf16"};
  return kNames[static_cast<std::size_t>(kind)];
}
constexpr std::string_view json_name_of(Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"fp8", "fp8_casts_apart", "bf16"};
  return kNames[static_cast<std::size_t>(kind)];
}

enum class Part : std::uint8_t { weight_cast, cast, forward, dgrad, wgrad };

/// An op of the layer, with what it has to do.
struct Call {
  std::string name;
  Part part;
  double flops, bytes;
  std::function<void()> run;
};

/// Memory of the layer, and its ops in their order.
class ExpertLayer {
 public:
  ExpertLayer(const ops::Backend& backend, const MoeBenchOptions& options, Kind kind)
      : backend_(backend), memory_(backend), options_(options), fp8_(kind != Kind::bf16) {
    groups_.experts = options.experts;
    groups_.rows = options.rows;
    offsets_ = memory_.room<std::int32_t>(options.experts + 1);
    padded_offsets_ = memory_.room<std::int32_t>(options.experts + 1);
    groups_.offsets = offsets_;
    groups_.padded_offsets = padded_offsets_;
    std::vector<std::int32_t> choices(static_cast<std::size_t>(options.rows));
    std::iota(choices.begin(), choices.end(), 0);
    choice_of_row_ = memory_.upload<std::int32_t>(choices);
    weights_ = memory_.random<float>(options.rows, Operands::Sign::positive);
    if (kind == Kind::fp8) add_fp8();
    if (kind == Kind::fp8_apart) add_fp8_with_casts_apart();
    if (kind == Kind::bf16) add_bf16();
  }

  void set_split(const Split& split) {
    std::vector<std::int32_t> offsets{0};
    std::vector<std::int32_t> padded{0};
    constexpr auto kTile = static_cast<std::int32_t>(ops::kGroupTile);
    for (const std::int32_t size : split.sizes) {
      offsets.push_back(offsets.back() + size);
      padded.push_back(padded.back() + (size + kTile - 1) / kTile * kTile);
    }
    backend_.device().upload(offsets_, offsets.data(), offsets.size() * sizeof(std::int32_t));
    backend_.device().upload(padded_offsets_, padded.data(), padded.size() * sizeof(std::int32_t));
    backend_.device().finish();
    for (const Call& call : calls_) call.run();  // maxima and scales are of this split from here on
  }

  [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }

  /// Forward and backward, with or without the casts of weights.
  [[nodiscard]] double seconds(bool weight_casts) const {
    return time_calls(backend_.device(),
                      [&] {
                        for (const Call& call : calls_) {
                          if (weight_casts || call.part != Part::weight_cast) call.run();
                        }
                      })
        .median;
  }

 private:
  /// Rows [rows, cols], their row codes and the maxima of their groups' columns.
  struct Rows {
    Index cols;
    bf16* values = nullptr;
    ops::RowCodes codes;
    ops::GroupMaxima maxima;
    ops::GroupCodes transposed;
  };
  /// Weights [experts, rows, cols] and their codes in both layouts.
  struct Weights {
    Index rows, cols;
    bf16* values = nullptr;
    ops::CastLayout stored, transposed;
  };

  template <typename Op>
  void add(std::string name, Part part, const Op& op) {
    backend_.require<Op>();
    if (const char* reason = backend_.refusal(op)) throw UserError("bench moe: {}: {}", name, reason);
    const ops::Workspace workspace = memory_.workspace(op);
    calls_.push_back(
        {std::move(name), part, op.flops(), op.bytes(), [this, op, workspace] { backend_.run(op, workspace); }});
  }

  [[nodiscard]] Rows rows_of(Index cols, bool stored, bool random = false) {
    const Index count = options_.rows * cols;
    Rows rows{cols, nullptr, {}, {}, {}};
    if (random) {
      rows.values = memory_.random<bf16>(count, Operands::Sign::both);
    } else if (stored) {
      rows.values = memory_.room<bf16>(count);
    }
    if (!fp8_) return rows;
    rows.codes = {.codes = memory_.room<std::uint8_t>(count),
                  .scale_inverse = memory_.room<float>(options_.rows),
                  .wanted = true};
    const Index of_groups = options_.experts * cols;
    rows.maxima = {.amax = memory_.room<bf16>(of_groups), .wanted = true};
    rows.transposed = {.codes = memory_.room<std::uint8_t>(cols * ops::padded_rows(options_.rows, options_.experts)),
                       .scale_inverse = memory_.room<float>(of_groups),
                       .amax = rows.maxima.amax,
                       .wanted = true};
    return rows;
  }

  [[nodiscard]] Weights weights_of(const char* name, Index rows, Index cols) {
    const Index count = options_.experts * rows * cols;
    Weights w{rows, cols, memory_.random<bf16>(count, Operands::Sign::both), {}, {}};
    if (!fp8_) return w;
    const auto layout = [&](Index outer) {
      return ops::CastLayout{memory_.room<std::uint8_t>(count), memory_.room<float>(options_.experts * outer),
                             ops::ScaleAxis::row};
    };
    w.stored = layout(rows);
    w.transposed = layout(cols);
    auto* row_amax = memory_.room<bf16>(options_.experts * rows);
    auto* column_amax = memory_.room<bf16>(options_.experts * cols);
    const ops::Maxima maxima{w.values, row_amax, column_amax, rows, cols, options_.experts};
    backend_.run(maxima, memory_.workspace(maxima));  // what an optimizer leaves
    add(fmt::format("cast of {}, both layouts", name), Part::weight_cast,
        ops::Cast{w.values, row_amax, column_amax, w.stored, w.transposed,
                  fp8::ScaleRule::of(fp8::Format::e4m3fn, true), rows, cols, options_.experts});
    return w;
  }

  [[nodiscard]] ops::GemmOperand row_side(const Rows& rows) const {
    if (!fp8_) return {.data = rows.values};
    return {rows.codes.codes, rows.codes.scale_inverse, kFormat, ops::ScaleAxis::row, false};
  }
  [[nodiscard]] ops::GemmOperand column_side(const Rows& rows) const {
    if (!fp8_) return {.data = rows.values, .transposed = true};
    return {rows.transposed.codes, rows.transposed.scale_inverse, kFormat, ops::ScaleAxis::row, false};
  }
  [[nodiscard]] ops::GemmOperand weight_side(const Weights& w, bool backward) const {
    if (!fp8_) return {.data = w.values, .transposed = backward};
    const ops::CastLayout& layout = backward ? w.transposed : w.stored;
    return {layout.codes, layout.scale_inverse, kFormat, ops::ScaleAxis::row, false};
  }

  void add_gemm(const char* name, Part part, const Rows& a, const Weights& w, bf16* d) {
    const bool backward = part == Part::dgrad;
    add(name, part,
        ops::GroupedGemm{row_side(a), weight_side(w, backward), groups_, d, backward ? w.cols : w.rows,
                         backward ? w.rows : w.cols, options_.accumulation});
  }
  void add_wgrad(const char* name, const Rows& dy, const Rows& x) {
    auto* d = memory_.room<bf16>(options_.experts * dy.cols * x.cols);
    add(name, Part::wgrad,
        ops::GroupedWgrad{column_side(dy), column_side(x), groups_, d, dy.cols, x.cols, DType::bf16, false,
                          options_.accumulation});
  }
  void add_row_cast(const char* name, const Rows& rows) {
    add(name, Part::cast,
        ops::GatherRows{rows.values, nullptr, groups_, nullptr, rows.codes, rows.maxima, 1, rows.cols, false});
  }
  void add_column_cast(const char* name, const Rows& rows) {
    add(name, Part::cast, ops::GatherRowsCast{rows.values, nullptr, groups_, rows.transposed, 1, rows.cols});
  }

  /// Of a matrix that lies in memory: row codes, the maxima of its columns, column codes, in a pass each.
  void add_casts_apart(const std::string& name, const Rows& rows) {
    add("row codes of " + name, Part::cast,
        ops::GatherRows{rows.values, nullptr, groups_, nullptr, rows.codes, {}, 1, rows.cols, false});
    add("column maxima of " + name, Part::cast,
        ops::GatherRows{rows.values, nullptr, groups_, nullptr, {}, rows.maxima, 1, rows.cols, false});
    add("column codes of " + name, Part::cast,
        ops::GatherRowsCast{rows.values, nullptr, groups_, rows.transposed, 1, rows.cols});
  }

  /// The same results as add_fp8(), where producers know nothing of FP8.
  void add_fp8_with_casts_apart() {
    const Index dim = options_.dim;
    const Index ffn = options_.ffn_dim;
    const Weights w13 = weights_of("w1 and w3", 2 * ffn, dim);
    const Weights w2 = weights_of("w2", dim, ffn);
    const Rows x = rows_of(dim, true, true);
    const Rows dout = rows_of(dim, true, true);
    const Rows y = rows_of(ffn, true);
    const Rows dgate_up = rows_of(2 * ffn, true);
    auto* gate_up = memory_.room<bf16>(options_.rows * 2 * ffn);
    auto* out = memory_.room<bf16>(options_.rows * dim);
    auto* dy = memory_.room<bf16>(options_.rows * ffn);
    auto* dx = memory_.room<bf16>(options_.rows * dim);
    auto* dweights = memory_.room<float>(options_.rows);
    add_casts_apart("x", x);
    add_gemm("x w13^T", Part::forward, x, w13, gate_up);
    add("SwiGLU", Part::cast,
        ops::GroupedSwigluForward{gate_up, weights_, choice_of_row_, groups_, y.values, {}, {}, ffn, true});
    add_casts_apart("y", y);
    add_gemm("y w2^T", Part::forward, y, w2, out);
    add_casts_apart("dout", dout);
    add_gemm("dout w2", Part::dgrad, dout, w2, dy);
    add("SwiGLU backward", Part::cast,
        ops::GroupedSwigluBackward{
            gate_up, dy, weights_, choice_of_row_, groups_, dgate_up.values, dweights, {}, {}, ffn, true});
    add_casts_apart("dgate_up", dgate_up);
    add_wgrad("dout^T y", dout, y);
    add_wgrad("dgate_up^T x", dgate_up, x);
    add_gemm("dgate_up w13", Part::dgrad, dgate_up, w13, dx);
  }

  void add_fp8() {
    const Index dim = options_.dim;
    const Index ffn = options_.ffn_dim;
    const Weights w13 = weights_of("w1 and w3", 2 * ffn, dim);
    const Weights w2 = weights_of("w2", dim, ffn);
    const Rows x = rows_of(dim, true, true);
    const Rows gate_up = rows_of(2 * ffn, true);
    const Rows y = rows_of(ffn, false);
    const Rows dout = rows_of(dim, true, true);
    auto* out = memory_.room<bf16>(options_.rows * dim);
    auto* dy = memory_.room<bf16>(options_.rows * ffn);
    auto* dx = memory_.room<bf16>(options_.rows * dim);
    auto* dweights = memory_.room<float>(options_.rows);
    add_row_cast("row codes of x, column maxima", x);
    add_gemm("x w13^T", Part::forward, x, w13, gate_up.values);
    add("SwiGLU to row codes, column maxima", Part::cast,
        ops::GroupedSwigluForward{gate_up.values, weights_, choice_of_row_, groups_, nullptr, y.codes, y.maxima, ffn,
                                  false});
    add_gemm("y w2^T", Part::forward, y, w2, out);
    add_row_cast("row codes of dout, column maxima", dout);
    add_gemm("dout w2", Part::dgrad, dout, w2, dy);
    add("SwiGLU backward to row codes, column maxima", Part::cast,
        ops::GroupedSwigluBackward{gate_up.values, dy, weights_, choice_of_row_, groups_, nullptr, dweights,
                                   gate_up.codes, gate_up.maxima, ffn, false});
    add_column_cast("column codes of dout", dout);
    add_column_cast("column codes of x", x);
    add("column codes of SwiGLU, both directions", Part::cast,
        ops::GroupedSwigluCast{gate_up.values, dy, weights_, choice_of_row_, groups_, gate_up.transposed, y.transposed,
                               ffn});
    add_wgrad("dout^T y", dout, y);
    add_wgrad("dgate_up^T x", gate_up, x);
    add_gemm("dgate_up w13", Part::dgrad, gate_up, w13, dx);
  }

  void add_bf16() {
    const Index dim = options_.dim;
    const Index ffn = options_.ffn_dim;
    const Weights w13 = weights_of("w1 and w3", 2 * ffn, dim);
    const Weights w2 = weights_of("w2", dim, ffn);
    const Rows x = rows_of(dim, true, true);
    const Rows gate_up = rows_of(2 * ffn, true);
    const Rows dgate_up = rows_of(2 * ffn, true);
    const Rows y = rows_of(ffn, true);
    const Rows dout = rows_of(dim, true, true);
    auto* out = memory_.room<bf16>(options_.rows * dim);
    auto* dy = memory_.room<bf16>(options_.rows * ffn);
    auto* dx = memory_.room<bf16>(options_.rows * dim);
    auto* dweights = memory_.room<float>(options_.rows);
    add_gemm("x w13^T", Part::forward, x, w13, gate_up.values);
    add("SwiGLU", Part::cast,
        ops::GroupedSwigluForward{gate_up.values, weights_, choice_of_row_, groups_, y.values, {}, {}, ffn, true});
    add_gemm("y w2^T", Part::forward, y, w2, out);
    add_gemm("dout w2", Part::dgrad, dout, w2, dy);
    add("SwiGLU backward", Part::cast,
        ops::GroupedSwigluBackward{
            gate_up.values, dy, weights_, choice_of_row_, groups_, dgate_up.values, dweights, {}, {}, ffn, true});
    add_wgrad("dout^T y", dout, y);
    add_wgrad("dgate_up^T x", dgate_up, x);
    add_gemm("dgate_up w13", Part::dgrad, dgate_up, w13, dx);
  }

  const ops::Backend& backend_;
  Operands memory_;
  MoeBenchOptions options_;
  bool fp8_;
  ops::Groups groups_;
  std::int32_t* offsets_;
  std::int32_t* padded_offsets_;
  const std::int32_t* choice_of_row_;
  const float* weights_;  // of choices
  std::vector<Call> calls_;
};

/// Flops over time of the products of one part.
struct Rate {
  double flops = 0, seconds = 0;

  [[nodiscard]] double tera() const { return seconds == 0 ? 0 : flops / seconds / 1e12; }
};

void describe_calls(BenchReport& report, nlohmann::ordered_json& json, const ops::Backend& backend,
                    const ExpertLayer& layer, double copy_rate) {
  std::array<Rate, 5> rates{};
  json["calls"] = nlohmann::ordered_json::array();
  report.table += fmt::format("{:>9} {:>9} {:>8}  op\n", "ms", "TFLOP/s", "of copy");
  for (const Call& call : layer.calls()) {
    const CallTimes times = time_calls(backend.device(), call.run);
    Rate& rate = rates[static_cast<std::size_t>(call.part)];
    rate.flops += call.flops;
    rate.seconds += times.median;
    const bool product = call.part >= Part::forward;
    const double share = call.bytes / times.median / copy_rate;
    report.table += fmt::format("{:>9.3f} {:>9} {:>8}  {}\n", times.median * 1e3,
                                product ? fmt::format("{:.0f}", call.flops / times.median / 1e12) : "",
                                product ? "" : fmt::format("{:.0f}%", 100 * share), call.name);
    json["calls"].push_back({{"op", call.name},
                             {"seconds", times.median},
                             {"fastest_seconds", times.fastest},
                             {"slowest_seconds", times.slowest},
                             {"flops", product ? call.flops : 0},
                             {"bytes", call.bytes},
                             {"share_of_copy", share}});
  }
  const auto of = [&](Part part) { return rates[static_cast<std::size_t>(part)]; };
  report.table += fmt::format(
      "products: forward {:.0f}, dgrad {:.0f}, wgrad {:.0f} TFLOP/s; others {:.3f} ms, casts of weights {:.3f} ms\n",
      of(Part::forward).tera(), of(Part::dgrad).tera(), of(Part::wgrad).tera(), of(Part::cast).seconds * 1e3,
      of(Part::weight_cast).seconds * 1e3);
  json["forward_flops_per_second"] = of(Part::forward).tera() * 1e12;
  json["dgrad_flops_per_second"] = of(Part::dgrad).tera() * 1e12;
  json["wgrad_flops_per_second"] = of(Part::wgrad).tera() * 1e12;
}

void measure(BenchReport& report, const ops::Backend& backend, const MoeBenchOptions& options, Kind kind,
             double copy_rate) {
  ExpertLayer layer(backend, options, kind);
  for (const Split& split : splits_of(options.rows, options.experts)) {
    layer.set_split(split);
    nlohmann::ordered_json json{{"precision", json_name_of(kind)}, {"split", split.name}};
    const double seconds = layer.seconds(false);
    json["seconds"] = seconds;
    report.table += fmt::format("\n{}, {}: {:.3f} ms forward and backward", name_of(kind), split.name, seconds * 1e3);
    if (kind != Kind::bf16) {
      const double with_casts = layer.seconds(true);
      json["seconds_with_weight_casts"] = with_casts;
      report.table += fmt::format(", {:.3f} ms with casts of weights", with_casts * 1e3);
    }
    report.table += "\n";
    describe_calls(report, json, backend, layer, copy_rate);
    report.json["layers"].push_back(std::move(json));
  }
}

void check_options(const MoeBenchOptions& options) {
  if (options.experts < 1 || options.rows < options.experts) {
    throw UserError("bench moe: {} experts share {} rows: give at least one row an expert", options.experts,
                    options.rows);
  }
  if (options.dim % 16 != 0 || options.ffn_dim % 16 != 0) {
    throw UserError("bench moe: FP8 products take multiples of 16 only: --dim is {}, --ffn-dim {}", options.dim,
                    options.ffn_dim);
  }
}

}  // namespace

BenchReport bench_moe(const MoeBenchOptions& options) {
  check_options(options);
  const auto backend = open_device(options.device);
  const double copy_rate = OpTimer(*backend).copy_rate();
  BenchReport report;
  report.table = fmt::format(
      "{}: {}\n{} experts, {} routed rows, model dim {}, feed-forward dim {}, {} accumulation; a copy reads and writes "
      "{:.2f} TB/s\n",
      backend->name(), backend->device().description(), options.experts, options.rows, options.dim, options.ffn_dim,
      fp8::name(options.accumulation), copy_rate / 1e12);
  report.json = {{"device", backend->device().description()},
                 {"experts", options.experts},
                 {"rows", options.rows},
                 {"dim", options.dim},
                 {"ffn_dim", options.ffn_dim},
                 {"accumulation", fp8::name(options.accumulation)},
                 {"copy_bytes_per_second", copy_rate},
                 {"layers", nlohmann::ordered_json::array()}};
  for (const Kind kind : {Kind::fp8, Kind::fp8_apart, Kind::bf16}) {
    measure(report, *backend, options, kind, copy_rate);
  }
  return report;
}

}  // namespace octet::cli
