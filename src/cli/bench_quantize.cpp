// Times FP8 casts on the CPU and lays the figures out as text and JSON.
#include "cli/bench_quantize.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "core/error.h"
#include "core/thread_pool.h"
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

/// The matrix, its codes and what the unfused cast keeps between its passes.
struct Matrix {
  Index rows, cols;
  Buffer<bf16> x{rows * cols};
  Buffer<bf16> copy{rows * cols};
  Buffer<std::uint8_t> codes{rows * cols};
  Buffer<float> scale_inverse{std::max(rows, cols)};
  Buffer<float> maxima{rows};
  Buffer<float> scales{rows};
  Buffer<float> scaled{rows * cols};

  Matrix(Index row_count, Index col_count) : rows(row_count), cols(col_count) {
    std::uint32_t state = 1;
    for (Index i = 0; i < rows * cols; ++i) {  // both signs, magnitudes over 16 powers of two
      state = state * 1664525U + 1013904223U;
      x.data()[i].bits = static_cast<std::uint16_t>(((state >> 16) & 0x87FFU) + 0x3800U);
    }
  }

  [[nodiscard]] ops::RowCodes row_codes(fp8::Format format) const {
    return {codes.data(), scale_inverse.data(), format, fp8::ScaleRule::of(format, true), true};
  }
};

/// What is measured: a run over the whole matrix, and the bytes per element that it has to move.
struct Contestant {
  std::string name;
  double bytes_per_element;
  bool casts;  // what the five passes do, and may be compared with them
  std::function<void(const Matrix&, fp8::Format)> run;
};

std::vector<Contestant> contestants(ops::CpuIsa isa, ThreadPool& pool) {
  const ops::cpu::RowKernels& kernels = ops::cpu::row_kernels(isa);
  const ops::cpu::UnfusedCast& passes = ops::cpu::unfused_cast(isa);
  const auto over_rows = [&pool](const Matrix& m, Index bytes_per_element, const auto& body) {
    parallel_ranges(pool, m.rows, row_grain(m.cols * bytes_per_element), body);
  };
  return {
      {"five passes", 21, true,
       [&passes, over_rows](const Matrix& m, fp8::Format format) {
         const auto rule = fp8::ScaleRule::of(format, true);
         over_rows(m, 2, [&](Index begin, Index end) {
           passes.absolute_maxima(m.x.data(), m.cols, m.maxima.data(), begin, end);
         });
         passes.scales(m.maxima.data(), rule, m.scales.data(), m.scale_inverse.data(), 0, m.rows);
         over_rows(m, 6, [&](Index begin, Index end) {
           passes.multiply(m.x.data(), m.cols, m.scales.data(), m.scaled.data(), begin, end);
         });
         over_rows(m, 8,
                   [&](Index begin, Index end) { passes.clamp(m.scaled.data(), m.cols, rule.max(), begin, end); });
         over_rows(m, 5, [&](Index begin, Index end) {
           passes.encode(m.scaled.data(), m.cols, format, m.codes.data(), begin, end);
         });
       }},
      {"fused rows", 3, true,
       [&kernels, over_rows](const Matrix& m, fp8::Format format) {
         const ops::QuantizeRows op{m.x.data(), m.row_codes(format), m.rows, m.cols};
         over_rows(m, 3, [&](Index begin, Index end) { kernels.quantize_rows(op, begin, end); });
       }},
      {"fused columns", 3, true,
       [&kernels, &pool](const Matrix& m, fp8::Format format) {
         const ops::QuantizeColumns op{m.x.data(), m.row_codes(format), m.rows, m.cols};
         parallel_ranges(pool, m.cols, ops::cpu::kColumnBlock,
                         [&](Index begin, Index end) { kernels.quantize_columns(op, begin, end); });
       }},
      {"decode to bf16", 3, false,
       [&kernels, over_rows](const Matrix& m, fp8::Format format) {
         over_rows(m, 3, [&](Index begin, Index end) {
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
  using Clock = std::chrono::steady_clock;
  const auto seconds_of = [&run](int runs) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < runs; ++i) run();
    return std::chrono::duration<double>(Clock::now() - start).count() / runs;
  };
  run();  // pages, caches and threads warm up
  const int runs = std::clamp(static_cast<int>(1e-3 / seconds_of(1)), 1, 10000);
  std::vector<double> seconds(static_cast<std::size_t>(repetitions));
  for (double& each : seconds) each = seconds_of(runs);
  std::nth_element(seconds.begin(), seconds.begin() + repetitions / 2, seconds.end());
  return seconds[static_cast<std::size_t>(repetitions / 2)];
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
void measure(const QuantizeBenchOptions& options, ThreadPool& pool, std::string_view place, const Matrix& matrix,
             BenchReport& bench) {
  const auto elements = static_cast<double>(matrix.rows * matrix.cols);
  const double copy_seconds = median_seconds(options.repetitions, [&] { copy_matrix(matrix, pool); });
  const double copy_rate = 4 * elements / copy_seconds / kGiga;
  bench.table += fmt::format("\n{}: [{}, {}] bf16, {:.1f} MiB; a copy reads and writes {:.1f} GB/s\n", place,
                             matrix.rows, matrix.cols, elements * sizeof(bf16) / (1 << 20), copy_rate);
  bench.table += fmt::format("{:<10} {:<15} {:>10} {:>12} {:>8} {:>8} {:>9}\n", "format", "kernel", "ms", "10^9 elem/s",
                             "GB/s", "of copy", "speed-up");
  for (const fp8::Format format : options.formats) {
    double unfused_seconds = 0;
    for (const Contestant& contestant : contestants(options.isa, pool)) {
      const double seconds = median_seconds(options.repetitions, [&] { contestant.run(matrix, format); });
      const double rate = contestant.bytes_per_element * elements / seconds / kGiga;
      if (unfused_seconds == 0) unfused_seconds = seconds;  // the first contestant
      bench.table +=
          fmt::format("{:<10} {:<15} {:>10.3f} {:>12.2f} {:>8.1f} {:>7.0f}% {:>9}\n", fp8::name(format),
                      contestant.name, seconds * 1e3, elements / seconds / kGiga, rate, 100 * rate / copy_rate,
                      contestant.casts ? fmt::format("{:.2f}x", unfused_seconds / seconds) : "");
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
  measure(options, pool, "in cache", in_cache, bench);
  const Matrix in_memory(options.rows, options.cols);
  measure(options, pool, "in memory", in_memory, bench);
  return bench;
}

}  // namespace octet::cli
