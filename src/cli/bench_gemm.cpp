// octet bench gemm: the three products of every linear layer of a model, timed one by one.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/bench.h"
#include "cli/bench_device.h"
#include "cli/bench_timing.h"
#include "core/random.h"
#include "core/timing.h"
#include "model/model.h"
#include "ops/cpu/cpu_device.h"
#include "ops/cpu/parallel.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

using Index = std::int64_t;

/// bf16 values in (-1, 1), or the FP8 codes of a third of the range: random, as constant data runs faster than real.
template <typename T>
std::vector<T> random_values(Index count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto word = philox(7, i, 0)[0];
    if constexpr (sizeof(T) == 1) {
      values[i] = static_cast<T>((word & 0x80U) | (word >> 8 & 0x3FU));
    } else {
      values[i] = to_bf16(static_cast<float>(2 * uniform(word) - 1));
    }
  }
  return values;
}

/// What oneDNN reaches where it is at its best: tiles of 1024 x 1024 with a long contraction, one per thread.
double best_rate(ops::Device& on) {
  const ops::cpu::CpuDevice& device = ops::cpu::cpu(on);
  constexpr Index extent = 1024;
  double best = 0;
  for (const Index k : {2048, 4096}) {
    const bool wide = device.products().operands() == DType::bf16;
    const auto a = random_values<bf16>(extent * k * (wide ? 1 : 2));
    const auto& product = device.products().find({extent, extent, k, k, k, extent, false, false, false});
    const Index scratch_bytes = static_cast<Index>(product.scratch_bytes()) + 64;
    std::vector<std::byte> scratch(static_cast<std::size_t>(scratch_bytes * device.threads()));
    std::vector<float> d(static_cast<std::size_t>(extent * extent * device.threads()));
    const auto run = [&] {
      device.pool().run(device.threads() * 2, [&](Index, int thread) {
        product.run(a.data(), a.data(), d.data() + thread * extent * extent, scratch.data() + thread * scratch_bytes);
      });
    };
    const double seconds = time_calls(on, run).median;
    best = std::max(best, 2.0 * extent * extent * static_cast<double>(k) * 2 * device.threads() / seconds);
  }
  return best;
}

struct Product {
  std::string layer, role;
  Index m, n, k;
};

std::vector<Product> products_of(const PrecisionPlan& precision) {
  std::vector<Product> products;
  for (const LayerChoice& c : precision.table()) {
    if (!c.layer.starts_with("layers.0.")) continue;  // the others have the same shapes
    products.push_back({c.layer, "forward", c.m, c.n, c.k});
    products.push_back({c.layer, "dgrad", c.m, c.k, c.n});
    products.push_back({c.layer, "wgrad", c.n, c.k, c.m});
  }
  return products;
}

double time_product(const ops::Backend& backend, const Product& p, bool fp8) {
  const bool wgrad = p.role == "wgrad";
  const auto a16 = random_values<bf16>(p.m * p.k);
  const auto b16 = random_values<bf16>(p.n * p.k);
  const auto a8 = random_values<std::uint8_t>(p.m * p.k);
  const auto b8 = random_values<std::uint8_t>(p.n * p.k);
  const std::vector<float> scales(static_cast<std::size_t>(std::max(p.m, p.n)), 0.25F);
  std::vector<float> d(static_cast<std::size_t>(p.m * p.n));
  ops::Gemm gemm{};
  if (fp8) {
    gemm.a = {a8.data(), scales.data(), DType::e4m3fn, ops::ScaleAxis::row, false};
    gemm.b = {b8.data(), scales.data(), DType::e4m3fn, ops::ScaleAxis::row, false};
  } else {
    gemm.a = {.data = a16.data(), .transposed = wgrad};
    gemm.b = {.data = b16.data(), .transposed = p.role != "forward"};
  }
  gemm.d = d.data();
  gemm.m = p.m;
  gemm.n = p.n;
  gemm.k = p.k;
  gemm.d_dtype = wgrad ? DType::f32 : DType::bf16;
  std::vector<std::byte> workspace(backend.workspace_bytes(gemm));
  return time_calls(backend.device(), [&] { backend.run(gemm, workspace); }).median;
}

}  // namespace

BenchReport bench_gemm(const DeviceBenchOptions& options) {
  DeviceBench bench = open_bench(options);
  if (!options.device.empty() || !bench.backend->device().host_memory()) return bench_products(std::move(bench));
  const ops::Backend* backend = bench.backend.get();
  const auto model = make_model(bench.config, *backend);
  const double best = best_rate(backend->device());
  BenchReport report;
  report.json = {{"device", backend->device().description()},
                 {"best_gflops", best / 1e9},
                 {"products", nlohmann::ordered_json::array()}};
  report.table = fmt::format(
      "cpu: {}\nbest oneDNN product: {:.0f} GFLOP/s\n{:<28} {:<8} {:>6} {:>6} {:>6} {:>10} {:>6} {:>10} {:>6}\n",
      backend->device().description(), best / 1e9, "layer", "product", "M", "N", "K", "bf16 GF/s", "best", "FP8 GF/s",
      "best");
  double flops = 0;
  std::map<bool, double> seconds;
  for (const Product& p : products_of(model->precision())) {
    const double work = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n * p.k);
    const double bf16_time = time_product(*backend, p, false);
    const double fp8_time = time_product(*backend, p, true);
    flops += work;
    seconds[false] += bf16_time;
    seconds[true] += fp8_time;
    report.table += fmt::format("{:<28} {:<8} {:>6} {:>6} {:>6} {:>10.0f} {:>5.0f}% {:>10.0f} {:>5.0f}%\n", p.layer,
                                p.role, p.m, p.n, p.k, work / bf16_time / 1e9, 100 * work / bf16_time / best,
                                work / fp8_time / 1e9, 100 * work / fp8_time / best);
    report.json["products"].push_back({{"layer", p.layer},
                                       {"product", p.role},
                                       {"m", p.m},
                                       {"n", p.n},
                                       {"k", p.k},
                                       {"bf16_seconds", bf16_time},
                                       {"fp8_seconds", fp8_time}});
  }
  const double bf16_share = flops / seconds[false] / best;
  const double fp8_share = flops / seconds[true] / best;
  report.table += fmt::format("all products of a layer: bf16 {:.0f} % of best, FP8 with its decoding {:.0f} %\n",
                              100 * bf16_share, 100 * fp8_share);
  report.json["bf16_share_of_best"] = bf16_share;
  report.json["fp8_share_of_best"] = fp8_share;
  return report;
}

}  // namespace octet::cli
