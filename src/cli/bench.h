// octet bench: each measurement returns a table for people and the same figures as JSON.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace octet::cli {

struct BenchReport {
  std::string table;
  nlohmann::ordered_json json;
};

struct MemoryBoundOptions {
  std::string device;            ///< empty: as the configuration says
  std::filesystem::path config;  ///< empty: Llama 3 8B with its states in bf16 on a GPU, the quickstart's on a CPU
  std::vector<std::string> set;
  int threads = 0;  ///< of a CPU; 0: as the configuration says
};

/// Every memory-bound op of a training step at its shapes, beside the speed of a copy on the same device. UserError
/// for a device or a configuration that cannot be used.
[[nodiscard]] BenchReport bench_memory_bound(const MemoryBoundOptions& options);

/// The products of a training step at a configuration's shapes, in bf16 and FP8, beside the best rate that oneDNN
/// reaches on this machine.
[[nodiscard]] BenchReport bench_gemm(const std::filesystem::path& config, const std::vector<std::string>& overrides);

struct StepBenchOptions {
  int steps = 20;     ///< that are timed
  bool tune = false;  ///< first find the fastest way of each product, on a GPU, and print the choices
  bool ops = true;    ///< time each op too, which on a GPU costs a step some milliseconds
};

/// Whole steps of a configuration in bf16 and in an FP8 recipe: time, where it goes, the ratio of the two.
[[nodiscard]] BenchReport bench_step(const std::filesystem::path& config, const std::vector<std::string>& overrides,
                                     const StepBenchOptions& options);

}  // namespace octet::cli
