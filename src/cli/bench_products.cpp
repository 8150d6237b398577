// octet bench gemm on a device: every product of a training step in bf16 and FP8, beside the best of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/bench.h"
#include "cli/bench_device.h"
#include "cli/op_timer.h"
#include "cli/step_ops.h"

namespace octet::cli {
namespace {

struct TimedProduct {
  StepOp<ops::Gemm> product;
  TimedOp timed;

  [[nodiscard]] double rate() const { return product.op.flops() / timed.seconds.median; }
};

/// The products of a step in bf16 and in the configuration's FP8 recipe, and beside each FP8 product the one with the
/// other accumulation, beside each fp32 result the one that adds to it: those that a step lacks have no calls.
StepOps products_of_step(Config config, const ops::Backend& backend) {
  StepOps products;
  const Config::Recipe fp8 = config.precision.recipe;
  for (const Config::Recipe recipe : {Config::Recipe::bf16, fp8}) {
    config.precision.recipe = recipe;
    const StepOps step = ops_of_step(config, backend);
    for (const StepOp<ops::Gemm>& each : step.of<ops::Gemm>()) {
      // In FP8 steps some layers stay in bf16: the bf16 step has them too.
      if (each.op.is_fp8() == (recipe != Config::Recipe::bf16)) products.add(each.op, each.calls);
    }
  }
  const std::vector<StepOp<ops::Gemm>> of_steps = products.of<ops::Gemm>();
  for (const StepOp<ops::Gemm>& each : of_steps) {
    ops::Gemm other = each.op;
    if (other.d_dtype == DType::f32) {
      other.accumulate = !other.accumulate;
      products.add(other, 0);
    }
    if (!other.is_fp8()) continue;
    const bool fast = other.accumulation == fp8::Accumulation::fast;
    other.accumulation = fast ? fp8::Accumulation::full : fp8::Accumulation::fast;
    products.add(other, 0);
    other.accumulate = each.op.accumulate;
    products.add(other, 0);
  }
  return products;
}

/// The best rate of each precision: bf16, FP8.
std::array<double, 2> best_rates(const std::vector<TimedProduct>& products) {
  std::array<double, 2> best{};
  for (const TimedProduct& each : products) {
    double& of_precision = best[each.product.op.is_fp8() ? 1 : 0];
    of_precision = std::max(of_precision, each.rate());
  }
  return best;
}

void describe(BenchReport& report, const std::vector<TimedProduct>& products) {
  const auto best = best_rates(products);
  std::array<double, 2> seconds{};
  std::array<double, 2> flops{};
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  report.table +=
      fmt::format("the best product of bf16 reaches {:.1f} TFLOP/s, of FP8 {:.1f}\n{:>6} {:>10} {:>9} {:>8}\n",
                  best[0] / 1e12, best[1] / 1e12, "calls", "us", "TFLOP/s", "of best");
  for (const TimedProduct& each : products) {
    const auto& [op, text, calls] = each.product;
    const std::size_t precision = op.is_fp8() ? 1 : 0;
    const double share = each.rate() / best[precision];
    seconds[precision] += each.timed.seconds.median * static_cast<double>(calls);
    flops[precision] += op.flops() * static_cast<double>(calls);
    report.table += fmt::format("{:>6} {:>10.1f} {:>9.3f} {:>7.0f}%  {}\n", calls, each.timed.seconds.median * 1e6,
                                each.rate() / 1e12, 100 * share, text);
    rows.push_back({{"what", text},
                    {"m", op.m},
                    {"n", op.n},
                    {"k", op.k},
                    {"operands", name(op.a.dtype)},
                    {"result", name(op.d_dtype)},
                    {"adds", op.accumulate},
                    {"accumulation", fp8::name(op.accumulation)},
                    {"calls_per_step", calls},
                    {"places", each.timed.places},
                    {"seconds", each.timed.seconds.median},
                    {"fastest_seconds", each.timed.seconds.fastest},
                    {"slowest_seconds", each.timed.seconds.slowest},
                    {"flops_per_second", each.rate()},
                    {"share_of_best", share}});
  }
  constexpr std::array<const char*, 2> kPrecisions{"bf16", "fp8"};
  for (const std::size_t i : {0U, 1U}) {
    if (seconds[i] == 0) continue;
    const double share = flops[i] / seconds[i] / best[i];
    report.table += fmt::format("{} products of a step: {:.2f} ms, {:.1f} TFLOP/s, {:.0f} % of the best\n",
                                kPrecisions[i], seconds[i] * 1e3, flops[i] / seconds[i] / 1e12, 100 * share);
    report.json[kPrecisions[i]] = {{"best_flops_per_second", best[i]},
                                   {"seconds_per_step", seconds[i]},
                                   {"flops_per_step", flops[i]},
                                   {"share_of_best", share}};
  }
  report.json["products"] = std::move(rows);
}

}  // namespace

BenchReport bench_products(DeviceBench bench) {
  if (bench.config.precision.recipe == Config::Recipe::bf16) bench.config.precision.recipe = Config::Recipe::rowwise;
  BenchReport report = bench.begin_report();
  OpTimer timer(*bench.backend);
  std::vector<TimedProduct> products;
  const StepOps of_step = products_of_step(bench.config, *bench.backend);
  for (const StepOp<ops::Gemm>& each : of_step.of<ops::Gemm>()) {
    if (const char* reason = bench.backend->refusal(each.op)) {
      report.table += fmt::format("left out: {}: {}\n", each.text, reason);
    } else {
      products.push_back({each, timer.time(each.op)});
    }
  }
  describe(report, products);
  return report;
}

}  // namespace octet::cli
