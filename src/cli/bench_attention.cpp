// octet bench attention: both directions of causal attention at a model's heads, by all who can compute it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/bench.h"
#include "cli/bench_device.h"
#include "cli/op_timer.h"
#include "core/error.h"
#include "io/text.h"
#include "ops/gpu/gpu_backend.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

/// Who computes, and where.
struct Contender {
  std::string name;
  std::string device;
  ops::GpuOptions gpu = {};
  double most_flops = std::numeric_limits<double>::infinity();  ///< of a forward pass
};

std::vector<Contender> contenders_on(const std::string& device) {
  using ops::GpuAttention;
  constexpr double kSmallEnoughForCpu = 1e10;
  if (device == "cpu") return {{"cpu", device}};
  return {{"library", device, {.attention = GpuAttention::vendor}},
          {"library, deterministic", device, {.attention = GpuAttention::vendor, .deterministic = true}},
          {"own kernels", device, {.attention = GpuAttention::own, .deterministic = true}},
          {"cpu", "cpu", {}, kSmallEnoughForCpu}};
}

/// What attention reads: sequences, and documents of equal length in each; of length 0, none.
struct Sequences {
  ops::AttentionShape shape;
  std::int64_t document_length;
};

/// Flops a second of a square product in bf16, long enough to show what the device can do.
double product_rate(OpTimer& timer, bool on_cpu) {
  const std::int64_t extent = on_cpu ? 1024 : 8192;
  ops::Gemm square{};
  square.m = square.n = square.k = extent;
  square.d_dtype = DType::bf16;
  return square.flops() / timer.time(square).seconds.median;
}

/// Who computes: not the library, where it has no kernel for the shape.
template <typename Op>
std::string computed_by(const Contender& contender, const ops::Backend& backend, const Op& op) {
  if (contender.gpu.attention != ops::GpuAttention::vendor || ops::library_computes(backend, op)) return contender.name;
  return "own, library refused";
}

template <typename Op>
void add_row(BenchReport& report, OpTimer& timer, const Contender& contender, const ops::Backend& backend,
             double ceiling, const Sequences& sequences) {
  const ops::AttentionShape& shape = sequences.shape;
  Op op{};
  op.shape = shape;
  op.documents.packed = sequences.document_length > 0;
  op.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
  const TimedOp timed = timer.time(op);
  const std::string by = computed_by(contender, backend, op);
  const double rate = op.flops() / timed.seconds.median;
  report.table += fmt::format("{:<23} {:<19} {:>6} {:>8} {:>11.1f} {:>9.3f} {:>9.0f}%\n", by, Op::name, shape.batch,
                              shape.seq_len, timed.seconds.median * 1e6, rate / 1e12, 100 * rate / ceiling);
  report.json["rows"].push_back({{"by", by},
                                 {"asked", contender.name},
                                 {"op", Op::name},
                                 {"batch", shape.batch},
                                 {"seq_len", shape.seq_len},
                                 {"heads", shape.heads},
                                 {"kv_heads", shape.kv_heads},
                                 {"head_dim", shape.head_dim},
                                 {"value_dim", shape.value_dim},
                                 {"document_length", sequences.document_length},
                                 {"places", timed.places},
                                 {"seconds", timed.seconds.median},
                                 {"fastest_seconds", timed.seconds.fastest},
                                 {"slowest_seconds", timed.seconds.slowest},
                                 {"flops_per_second", rate},
                                 {"share_of_product", rate / ceiling}});
}

void measure(BenchReport& report, const Contender& contender, const ops::Backend& backend,
             const std::vector<ops::AttentionShape>& shapes, std::int64_t document_length) {
  OpTimer timer(backend);
  timer.set_document_length(document_length);
  const double ceiling = product_rate(timer, backend.device().host_memory());
  for (const ops::AttentionShape& shape : shapes) {
    if (shape.causal_flops(shape.head_dim + shape.value_dim) > contender.most_flops) continue;
    add_row<ops::AttentionForward>(report, timer, contender, backend, ceiling, {shape, document_length});
    add_row<ops::AttentionBackward>(report, timer, contender, backend, ceiling, {shape, document_length});
  }
  // After the runs: it then says what the library refused.
  report.json["contenders"].push_back(
      {{"by", contender.name}, {"device", backend.device().description()}, {"product_flops_per_second", ceiling}});
}

/// As many tokens as the configuration's micro-batch has, in sequences of each length.
std::vector<ops::AttentionShape> shapes_of(const Config& config, std::vector<std::int64_t> lengths) {
  if (lengths.empty()) lengths = {config.training.seq_len};
  const std::int64_t tokens = config.training.batch_size * config.training.seq_len;
  std::vector<ops::AttentionShape> shapes;
  for (const std::int64_t length : lengths) {
    shapes.push_back({std::max<std::int64_t>(1, tokens / length), length, config.model.n_heads, config.model.kv_heads(),
                      config.model.head_dim(), config.model.value_head_dim()});
  }
  return shapes;
}

}  // namespace

BenchReport bench_attention(const DeviceBenchOptions& options, const std::vector<std::int64_t>& lengths,
                            std::int64_t document_length) {
  DeviceBench bench = open_bench(options);
  BenchReport report = bench.begin_report();
  const Config& config = bench.config;
  const auto shapes = shapes_of(config, lengths);
  bench.backend.reset();  // a contender at a time
  report.table += fmt::format(
      "{} query heads, {} key heads of {} elements; causal: half of the scores count{}; beside a square product in "
      "bf16\n"
      "{:<23} {:<19} {:>6} {:>8} {:>11} {:>9} {:>10}\n",
      config.model.n_heads, config.model.kv_heads(), config.model.head_dim(),
      document_length > 0 ? fmt::format(", also those between documents of {}, which are not computed", document_length)
                          : "",
      "by", "op", "batch", "seq_len", "us", "TFLOP/s", "of product");
  report.json["rows"] = nlohmann::ordered_json::array();
  report.json["contenders"] = nlohmann::ordered_json::array();
  for (const Contender& contender : contenders_on(config.runtime.device)) {
    std::unique_ptr<ops::Backend> backend;
    try {
      backend = open_device(contender.device, static_cast<int>(config.runtime.threads), contender.gpu);
    } catch (const UserError& error) {  // the device was opened before: its library is missing
      report.table += fmt::format("{:<23} left out: {}\n", contender.name, error.what());
      report.json["contenders"].push_back({{"by", contender.name}, {"left_out", error.what()}});
      continue;
    }
    measure(report, contender, *backend, shapes, document_length);
  }
  return report;
}

}  // namespace octet::cli
