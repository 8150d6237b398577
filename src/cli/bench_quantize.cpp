// Times FP8 casts on the CPU and lays the figures out as text and JSON.
#include "cli/bench_quantize.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "core/error.h"
#include "core/thread_pool.h"
#include "core/timing.h"
#include "ops/cpu/cpu_backend.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/row_kernels.h"
#include "ops/cpu/unfused_cast.h"

namespace octet::cli {
namespace {

using ops::cpu::Index;
using ops::cpu::parallel_ranges;
using ops::cpu::row_grain;

constexpr double kGiga = 1e9;

/// Memory as the arena gives it: aligned, in huge pages where the system has them, so that strides cost no more here.
template <typename T>
class Buffer {
 public:
  explicit Buffer(std::int64_t count)
      : bytes_((static_cast<std::size_t>(count) * sizeof(T) + kPage - 1) / kPage * kPage) {
    data_.reset(static_cast<T*>(std::aligned_alloc(kPage, bytes_)));
    if (data_ == nullptr) {
      throw UserError("bench quantize: no memory for {:.2f} GiB more: give fewer --rows or --cols",
                      static_cast<double>(bytes_) / (1U << 30U));
    }
    madvise(data_.get(), bytes_, MADV_HUGEPAGE);
    std::memset(data_.get(), 0, bytes_);
  }
  [[nodiscard]] T* data() const { return data_.get(); }

 private:
  static constexpr std::size_t kPage = 2U << 20U;
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::size_t bytes_;
  std::unique_ptr<T, Free> data_;
};

constexpr Index kExperts = 8;  // that rows are gathered for, each as many

/// The matrix, its codes in both layouts, its maxima, what the unfused cast keeps between its passes, and the rows of
/// it that each expert gets.
struct Matrix {
  Index rows, cols;
  Buffer<bf16> x{rows * cols};
  Buffer<bf16> copy{rows * cols};
  Buffer<std::uint8_t> codes{rows * cols};
  Buffer<std::uint8_t> codes_transposed{rows * cols};
  Buffer<float> scale_inverse{rows};
  Buffer<float> scale_inverse_transposed{cols};
  Buffer<bf16> row_amax{rows};
  Buffer<bf16> column_amax{cols};
  Buffer<float> maxima{rows};
  Buffer<float> scales{rows};
  Buffer<float> scaled{rows * cols};
  Buffer<std::int32_t> choice_of_row{rows};
  Buffer<std::int32_t> offsets{kExperts + 1};
  Buffer<bf16> group_amax{kExperts * cols};

  Matrix(Index row_count, Index col_count) : rows(row_count), cols(col_count) {
    std::uint32_t state = 1;
    for (Index i = 0; i < rows * cols; ++i) {  // both signs, magnitudes over 16 powers of two
      state = state * 1664525U + 1013904223U;
      x.data()[i].bits = static_cast<std::uint16_t>(((state >> 16) & 0x87FFU) + 0x3800U);
    }
    std::int32_t next = 0;
    for (Index expert = 0; expert < kExperts; ++expert) {  // whose rows are spread over the whole matrix, in order
      for (Index row = expert; row < rows; row += kExperts) {
        choice_of_row.data()[next++] = static_cast<std::int32_t>(row);
      }
      offsets.data()[expert + 1] = next;
    }
  }

  [[nodiscard]] ops::QuantizeRows fused_cast(fp8::Format format, bool measures_columns) const {
    const auto rule = fp8::ScaleRule::of(format, true);
    ops::ColumnMaxima columns;
    if (measures_columns) columns = {column_amax.data(), true};
    return {x.data(), {codes.data(), scale_inverse.data(), row_amax.data(), rule, true}, columns, rows, cols};
  }
  /// The rows in the order of experts.
  [[nodiscard]] ops::GatherRows gathered_cast(fp8::Format format, bool measures_columns) const {
    const auto rule = fp8::ScaleRule::of(format, true);
    ops::GroupMaxima columns;
    if (measures_columns) columns = {group_amax.data(), true};
    return {x.data(),
            choice_of_row.data(),
            {offsets.data(), nullptr, kExperts, rows},
            nullptr,
            {codes.data(), scale_inverse.data(), row_amax.data(), rule, true},
            columns,
            1,
            cols,
            false};
  }
  [[nodiscard]] ops::Maxima measure() const { return {x.data(), row_amax.data(), column_amax.data(), rows, cols}; }
  /// One scale per row of each layout, from maxima that the matrix has by then.
  [[nodiscard]] ops::Cast cast(fp8::Format format, bool as_stored) const {
    constexpr auto kRow = fp8::ScaleAxis::row;
    ops::CastLayout stored;
    if (as_stored) stored = {codes.data(), scale_inverse.data(), kRow};
    const ops::CastLayout transposed{codes_transposed.data(), scale_inverse_transposed.data(), kRow};
    const auto rule = fp8::ScaleRule::of(format, true);
    return {x.data(), row_amax.data(), column_amax.data(), stored, transposed, rule, rows, cols};
  }
};

/// The CPU's ops, each with the workspace that it needs.
class OpRunner {
 public:
  OpRunner(int threads, ops::CpuIsa isa) : backend_(ops::make_cpu_backend(threads, isa)) {}

  template <typename Op>
  void run(const Op& op) {
    const std::size_t bytes = backend_->workspace_bytes(op);
    if (workspace_bytes_ < bytes) {
      workspace_.emplace(static_cast<std::int64_t>(bytes));
      workspace_bytes_ = bytes;
    }
    backend_->run(op, ops::Workspace(workspace_ ? workspace_->data() : nullptr, bytes));
  }

 private:
  std::unique_ptr<ops::Backend> backend_;
  std::optional<Buffer<std::byte>> workspace_;
  std::size_t workspace_bytes_ = 0;
};

/// What is measured: a run over the whole matrix, and the bytes per element that it has to move.
struct Contestant {
  std::string name;
  double bytes_per_element;
  std::string unfused;  // the contestant that does the same pass by pass; empty for none
  std::function<void(const Matrix&, fp8::Format)> run;
};

/// The row cast of x [rows, cols] as five passes, each over the whole matrix.
void cast_in_five_passes(const ops::cpu::UnfusedCast& passes, ThreadPool& pool, const Matrix& m, const bf16* x,
                         fp8::Format format) {
  const auto over_rows = [&](Index bytes_per_element, const auto& body) {
    parallel_ranges(pool, m.rows, row_grain(m.cols * bytes_per_element), body);
  };
  const auto rule = fp8::ScaleRule::of(format, true);
  over_rows(2, [&](Index begin, Index end) { passes.absolute_maxima(x, m.cols, m.maxima.data(), begin, end); });
  passes.scales(m.maxima.data(), rule, m.scales.data(), m.scale_inverse.data(), 0, m.rows);
  over_rows(6,
            [&](Index begin, Index end) { passes.multiply(x, m.cols, m.scales.data(), m.scaled.data(), begin, end); });
  over_rows(8, [&](Index begin, Index end) { passes.clamp(m.scaled.data(), m.cols, rule.max(), begin, end); });
  over_rows(
      5, [&](Index begin, Index end) { passes.encode(m.scaled.data(), m.cols, format, m.codes.data(), begin, end); });
}

/// The rows in the order of experts, as a pass of its own.
void gather(ThreadPool& pool, const Matrix& m) {
  parallel_ranges(pool, m.rows, row_grain(m.cols * 4), [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      std::memcpy(m.copy.data() + row * m.cols, m.x.data() + m.choice_of_row.data()[row] * m.cols,
                  static_cast<std::size_t>(m.cols) * sizeof(bf16));
    }
  });
}

/// In an order in which the maxima are measured before the casts that want them.
std::vector<Contestant> contestants(ops::CpuIsa isa, ThreadPool& pool, OpRunner& runner) {
  const ops::cpu::RowKernels& kernels = ops::cpu::row_kernels(isa);
  const ops::cpu::UnfusedCast& passes = ops::cpu::unfused_cast(isa);
  return {
      {"five passes", 21, "five passes",
       [&](const Matrix& m, fp8::Format format) { cast_in_five_passes(passes, pool, m, m.x.data(), format); }},
      {"fused rows", 3, "five passes",
       [&](const Matrix& m, fp8::Format format) { runner.run(m.fused_cast(format, false)); }},
      {"fused rows, column maxima", 3, "five passes",
       [&](const Matrix& m, fp8::Format format) { runner.run(m.fused_cast(format, true)); }},
      {"gather, five passes", 25, "gather, five passes",
       [&](const Matrix& m, fp8::Format format) {
         gather(pool, m);
         cast_in_five_passes(passes, pool, m, m.copy.data(), format);
       }},
      {"fused gather", 3, "gather, five passes",
       [&](const Matrix& m, fp8::Format format) { runner.run(m.gathered_cast(format, false)); }},
      {"fused gather, maxima", 3, "gather, five passes",
       [&](const Matrix& m, fp8::Format format) { runner.run(m.gathered_cast(format, true)); }},
      {"maxima", 2, "", [&](const Matrix& m, fp8::Format) { runner.run(m.measure()); }},
      {"column cast", 3, "", [&](const Matrix& m, fp8::Format format) { runner.run(m.cast(format, false)); }},
      {"cast to both layouts", 4, "", [&](const Matrix& m, fp8::Format format) { runner.run(m.cast(format, true)); }},
      {"decode to bf16", 3, "",
       [&](const Matrix& m, fp8::Format format) {
         parallel_ranges(pool, m.rows, row_grain(m.cols * 3), [&](Index begin, Index end) {
           kernels.decode_to_bf16(m.codes.data(), format, m.copy.data(), begin * m.cols, end * m.cols);
         });
       }},
  };
}

void copy_matrix(const Matrix& m, ThreadPool& pool) {
  parallel_ranges(pool, m.rows, row_grain(m.cols * 4), [&](Index begin, Index end) {
    std::memcpy(m.copy.data() + begin * m.cols, m.x.data() + begin * m.cols,
                static_cast<std::size_t>((end - begin) * m.cols) * sizeof(bf16));
  });
}

/// Median seconds of one run. A short run is repeated within one measurement until that lasts about a millisecond.
double median_seconds(int repetitions, const std::function<void()>& run) {
  const auto seconds_of = [&run](int runs) {
    const double start = monotonic_seconds();
    for (int i = 0; i < runs; ++i) run();
    return (monotonic_seconds() - start) / runs;
  };
  run();  // pages, caches and threads warm up
  const int runs = std::clamp(static_cast<int>(1e-3 / seconds_of(1)), 1, 10000);
  std::vector<double> seconds(static_cast<std::size_t>(repetitions));
  for (double& each : seconds) each = seconds_of(runs);
  return median(seconds);
}

void check_options(const QuantizeBenchOptions& options) {
  if (options.rows < 1 || options.cols < 1) {
    throw UserError("bench quantize: a matrix of {} x {} has no elements: give --rows and --cols of at least 1",
                    options.rows, options.cols);
  }
  if (options.isa > ops::detect_cpu_isa()) {
    throw UserError("bench quantize: this machine has no {}: choose at most {}", ops::name(options.isa),
                    ops::name(ops::detect_cpu_isa()));
  }
  if (options.repetitions < 9) {
    throw UserError("bench quantize: a median of {} repetitions says little: give at least 9", options.repetitions);
  }
}

/// Adds the lines and the results of one matrix.
void measure(const QuantizeBenchOptions& options, ThreadPool& pool, OpRunner& runner, std::string_view place,
             const Matrix& matrix, BenchReport& bench) {
  const auto elements = static_cast<double>(matrix.rows * matrix.cols);
  const double copy_seconds = median_seconds(options.repetitions, [&] { copy_matrix(matrix, pool); });
  const double copy_rate = 4 * elements / copy_seconds / kGiga;
  bench.table += fmt::format("\n{}: [{}, {}] bf16, {:.1f} MiB; a copy reads and writes {:.1f} GB/s\n", place,
                             matrix.rows, matrix.cols, elements * sizeof(bf16) / (1 << 20), copy_rate);
  bench.table += fmt::format("{:<10} {:<25} {:>10} {:>12} {:>8} {:>8} {:>9}\n", "format", "kernel", "ms", "10^9 elem/s",
                             "GB/s", "of copy", "speed-up");
  for (const fp8::Format format : options.formats) {
    std::map<std::string, double> seconds_of;
    for (const Contestant& contestant : contestants(options.isa, pool, runner)) {
      const double seconds = median_seconds(options.repetitions, [&] { contestant.run(matrix, format); });
      const double rate = contestant.bytes_per_element * elements / seconds / kGiga;
      seconds_of[contestant.name] = seconds;
      const auto unfused = seconds_of.find(contestant.unfused);
      bench.table +=
          fmt::format("{:<10} {:<25} {:>10.3f} {:>12.2f} {:>8.1f} {:>7.0f}% {:>9}\n", fp8::name(format),
                      contestant.name, seconds * 1e3, elements / seconds / kGiga, rate, 100 * rate / copy_rate,
                      unfused == seconds_of.end() ? "" : fmt::format("{:.2f}x", unfused->second / seconds));
      bench.json["results"].push_back({{"place", place},
                                       {"rows", matrix.rows},
                                       {"cols", matrix.cols},
                                       {"format", fp8::name(format)},
                                       {"kernel", contestant.name},
                                       {"seconds", seconds},
                                       {"elements_per_second", elements / seconds},
                                       {"bytes_per_element", contestant.bytes_per_element},
                                       {"bytes_per_second", rate * kGiga},
                                       {"copy_bytes_per_second", copy_rate * kGiga}});
    }
  }
}

}  // namespace

BenchReport bench_quantize(const QuantizeBenchOptions& options) {
  check_options(options);
  const int threads = options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  ThreadPool pool(threads);
  OpRunner runner(threads, options.isa);
  const long last_level = sysconf(_SC_LEVEL3_CACHE_SIZE);
  BenchReport bench;
  bench.table = fmt::format("FP8 casts, {} threads, {}, medians of {}, last-level cache {} MiB\n", threads,
                            ops::name(options.isa), options.repetitions, std::max(0L, last_level) >> 20);
  bench.json = {{"isa", ops::name(options.isa)},
                {"threads", threads},
                {"repetitions", options.repetitions},
                {"last_level_cache_bytes", std::max(0L, last_level)},
                {"results", nlohmann::ordered_json::array()}};

  // 128 KiB of bf16 for each thread: with codes and the unfused cast's floats it fits a second-level cache of 512 KiB.
  const Matrix in_cache(128 * threads, 512);
  measure(options, pool, runner, "in cache", in_cache, bench);
  const Matrix in_memory(options.rows, options.cols);
  measure(options, pool, runner, "in memory", in_memory, bench);
  return bench;
}

}  // namespace octet::cli
