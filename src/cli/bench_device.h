// What every octet bench of single ops on a device starts from: a configuration, the device, the head of a report.
#pragma once

#include <filesystem>
#include <memory>

#include "cli/bench.h"
#include "io/config.h"
#include "ops/backend.h"

namespace octet::cli {

struct DeviceBench {
  std::filesystem::path path;  ///< of the configuration
  Config config;
  std::unique_ptr<ops::Backend> backend;

  /// Device, configuration, tokens and recipe.
  [[nodiscard]] BenchReport begin_report() const;
};

/// UserError where the configuration or the device cannot be used.
[[nodiscard]] DeviceBench open_bench(const DeviceBenchOptions& options);

/// bench_products.cpp: what `bench_gemm` reports of a device.
[[nodiscard]] BenchReport bench_products(DeviceBench bench);

}  // namespace octet::cli
