// octet bench quantize --device NAME --rows R --cols C: casts of one matrix on a device, beside a copy, and what is
// gained where the op that makes the matrix leaves its codes.
#include <fmt/format.h>

#include "cli/bench.h"
#include "cli/op_timer.h"
#include "core/error.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

using Index = std::int64_t;

/// One op or several, one after the other.
struct Chain {
  double seconds = 0;
  double bytes = 0;
};

class CastBench {
 public:
  CastBench(const ops::Backend& backend, Index rows, Index cols)
      : timer_(backend),
        rule_(fp8::ScaleRule::of(fp8::forward_format(backend.device().families().front()), true)),
        rows_(rows),
        cols_(cols),
        copy_rate_(timer_.copy_rate()) {}

  /// Each by itself; column codes under maxima that are known, and with the pass that finds them.
  void casts(BenchReport& report) {
    report.json["copy_bytes_per_second"] = copy_rate_;
    report.json["casts"] = nlohmann::ordered_json::array();
    report.table += fmt::format("a copy of {} MiB reads and writes {:.1f} GB/s\n{:<36} {:>10} {:>10} {:>9} {:>8}\n",
                                timer_.ceiling_bytes() >> 20, copy_rate_ / 1e9, "cast", "MB", "us", "GB/s", "of copy");
    const Chain maxima = time(ops::Maxima{nullptr, nullptr, nullptr, rows_, cols_});
    const Chain columns = time(cast(false));
    add_cast(report, "row codes", time(row_cast(false)));
    add_cast(report, "row codes and column maxima", time(row_cast(true)));
    add_cast(report, "maxima of rows and columns", maxima);
    add_cast(report, "column codes under known maxima", columns);
    add_cast(report, "column codes from maxima on", {maxima.seconds + columns.seconds, maxima.bytes + columns.bytes});
    add_cast(report, "codes in both layouts", time(cast(true)));
  }

  /// What makes a matrix and then casts it, in one op and in two.
  void fusion(BenchReport& report) {
    report.json["fused"] = nlohmann::ordered_json::array();
    report.table += fmt::format("{:<36} {:>10} {:>10} {:>9} {:>8}\n", "row codes and column maxima of", "apart, us",
                                "fused, us", "speed-up", "bytes");
    const Chain cast = time(row_cast(true));
    add_fused(report, "RMSNorm", time(norm(false)), cast, time(norm(true)));
    add_fused(report, "SwiGLU", time(swiglu(false)), cast, time(swiglu(true)));
  }

 private:
  [[nodiscard]] ops::RowCodes codes() const { return {.rule = rule_, .wanted = true}; }

  [[nodiscard]] ops::QuantizeRows row_cast(bool measures_columns) const {
    return {nullptr, codes(), {.wanted = measures_columns}, rows_, cols_};
  }
  [[nodiscard]] ops::Cast cast(bool as_stored) const {
    const ops::CastLayout wanted{.axis = fp8::ScaleAxis::row};
    return {nullptr, nullptr, nullptr, as_stored ? wanted : ops::CastLayout{}, wanted, rule_, rows_, cols_};
  }
  [[nodiscard]] ops::RmsNormForward norm(bool fused) const {
    ops::RmsNormForward op{};
    op.rows = rows_;
    op.dim = cols_;
    op.eps = 1e-5F;
    fuse(op, fused);
    return op;
  }
  [[nodiscard]] ops::SwigluForward swiglu(bool fused) const {
    ops::SwigluForward op{};
    op.rows = rows_;
    op.dim = cols_;
    fuse(op, fused);
    return op;
  }
  /// Nobody reads in bf16 what is there in codes.
  template <typename Op>
  void fuse(Op& op, bool fused) const {
    op.stored = !fused;
    if (!fused) return;
    op.codes = codes();
    op.columns.wanted = true;
  }

  template <typename Op>
  [[nodiscard]] Chain time(const Op& op) {
    return {timer_.time(op).seconds.median, op.bytes()};
  }

  void add_cast(BenchReport& report, std::string_view what, const Chain& chain) const {
    const double rate = chain.bytes / chain.seconds;
    report.table += fmt::format("{:<36} {:>10.2f} {:>10.1f} {:>9.1f} {:>7.0f}%\n", what, chain.bytes / 1e6,
                                chain.seconds * 1e6, rate / 1e9, 100 * rate / copy_rate_);
    report.json["casts"].push_back({{"what", what},
                                    {"bytes", chain.bytes},
                                    {"seconds", chain.seconds},
                                    {"bytes_per_second", rate},
                                    {"share_of_copy", rate / copy_rate_}});
  }

  static void add_fused(BenchReport& report, std::string_view producer, const Chain& alone, const Chain& cast,
                        const Chain& fused) {
    const Chain apart{alone.seconds + cast.seconds, alone.bytes + cast.bytes};
    report.table += fmt::format("{:<36} {:>10.1f} {:>10.1f} {:>8.2f}x {:>7.2f}x\n", producer, apart.seconds * 1e6,
                                fused.seconds * 1e6, apart.seconds / fused.seconds, apart.bytes / fused.bytes);
    report.json["fused"].push_back({{"producer", producer},
                                    {"apart_seconds", apart.seconds},
                                    {"apart_bytes", apart.bytes},
                                    {"fused_seconds", fused.seconds},
                                    {"fused_bytes", fused.bytes},
                                    {"speed_up", apart.seconds / fused.seconds}});
  }

  OpTimer timer_;
  fp8::ScaleRule rule_;
  Index rows_, cols_;
  double copy_rate_;
};

}  // namespace

BenchReport bench_casts(const DeviceBenchOptions& options, Index rows, Index cols) {
  if (rows < 1 || cols < 1) {
    throw UserError("bench quantize: a matrix of {} x {} has no elements: give --rows and --cols of at least 1", rows,
                    cols);
  }
  const auto backend = open_device(options.device, options.threads);
  BenchReport report;
  report.table = fmt::format("{}: {}\n[{}, {}] bf16 to {}\n", backend->name(), backend->device().description(), rows,
                             cols, fp8::name(fp8::forward_format(backend->device().families().front())));
  report.json = {{"device", backend->device().description()}, {"rows", rows}, {"cols", cols}};
  CastBench bench(*backend, rows, cols);
  bench.casts(report);
  bench.fusion(report);
  return report;
}

}  // namespace octet::cli
