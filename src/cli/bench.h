// octet bench: each measurement returns a table for people and the same figures as JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/config.h"

namespace octet::cli {

struct BenchReport {
  std::string table;
  nlohmann::ordered_json json;
};

/// Where single ops are measured, and those of which step.
struct DeviceBenchOptions {
  std::string device;            ///< empty: as the configuration says
  std::filesystem::path config;  ///< empty: Llama 3 8B with its states in bf16 on a GPU, the quickstart's on a CPU
  std::vector<std::string> set;
  int threads = 0;  ///< of a CPU; 0: as the configuration says
};

/// Every memory-bound op of a training step at its shapes, beside the speed of a copy on the same device. UserError
/// for a device or a configuration that cannot be used.
[[nodiscard]] BenchReport bench_memory_bound(const DeviceBenchOptions& options);

/// FP8 casts of one matrix [rows, cols] on a device, by themselves and fused with what makes it, beside the speed of a
/// copy: one scale a row, of rows as they lie and of columns, transposed. UserError for sizes below 1 or a device that
/// cannot be used.
[[nodiscard]] BenchReport bench_casts(const DeviceBenchOptions& options, std::int64_t rows, std::int64_t cols);

/// Attention, forward and backward, at a configuration's heads and tokens in sequences of each of `lengths` (none: the
/// configuration's), into which documents of `document_length` are packed (0: one each): on a GPU by its library, with
/// and without the same bits on each run, by own kernels, and by the CPU where that takes seconds; beside a square
/// product in bf16. UserError as above.
[[nodiscard]] BenchReport bench_attention(const DeviceBenchOptions& options, const std::vector<std::int64_t>& lengths,
                                          std::int64_t document_length);

/// The products of a training step at a configuration's shapes, in bf16 and FP8: on the CPU, unless a device is named,
/// beside the best rate that oneDNN reaches; on a device with both accumulations, alone and added to, beside the best
/// of them. UserError as above.
[[nodiscard]] BenchReport bench_gemm(const DeviceBenchOptions& options);

struct StepBenchOptions {
  int steps = 20;     ///< that are timed
  bool tune = false;  ///< first find the fastest way of each product, on a GPU, and print the choices
  bool ops = true;    ///< time each op too, which on a GPU costs a step some milliseconds
};

/// Whole steps of a configuration in bf16 and in an FP8 recipe: time, where it goes beside what the device can do, what
/// the host adds, memory against its plan, the ratio of the two. UserError as above.
[[nodiscard]] BenchReport bench_step(const DeviceBenchOptions& device, const StepBenchOptions& options);

struct LoaderBenchOptions {
  int batches = 100;      ///< that are timed
  double step_ms = 10.0;  ///< what a step takes, for the time that it waits
};

/// Batches of a configuration's training data: made alone on one thread, and taken by steps of a given time while the
/// next one is made. UserError where the data cannot be opened.
[[nodiscard]] BenchReport bench_loader(const Config& config, const LoaderBenchOptions& options);

}  // namespace octet::cli
