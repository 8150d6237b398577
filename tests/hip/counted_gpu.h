// A simulated GPU whose launches are counted: what ops and test kernels execute, and what they move.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/backend.h"
#include "ops/gpu/gpu_device.h"

namespace octet::test {

/// What one or more launches came to, as the simulator counts it (docs/cdna-simulator.md, "Counters").
struct LaunchTotals {
  int launches = 0;
  std::uint64_t bytes = 0;  ///< of global memory, each access anew, what lanes of an access share once
  std::uint64_t segments_64 = 0, least_segments_64 = 0;
  std::uint64_t segments_128 = 0, least_segments_128 = 0;
  std::uint64_t instructions = 0;  ///< of waves
  std::uint64_t atomics = 0;
  std::uint64_t cache_maintenance = 0;
  std::map<std::uint32_t, std::uint64_t> loaded, stored;  ///< bytes by the width of a lane's access

  LaunchTotals& operator+=(const LaunchTotals& other);
};

class CountedGpu {
 public:
  /// hip:`index`. `log` is the file to which the simulator appends its counts (CDNA_SIM_COUNTS, with CDNA_SIM_TRAFFIC).
  CountedGpu(int index, std::filesystem::path log);

  [[nodiscard]] const ops::Backend& backend() const { return *backend_; }

  template <typename T>
  [[nodiscard]] const T* upload(const std::vector<T>& values) {
    T* to = room<T>(std::ssize(values));
    device().upload(to, values.data(), values.size() * sizeof(T));
    return to;
  }
  /// Memory for `count` elements, zero, as long as this object lives.
  template <typename T>
  [[nodiscard]] T* room(std::int64_t count) {
    return reinterpret_cast<T*>(allocate(static_cast<std::size_t>(count) * sizeof(T)));
  }
  template <typename T>
  [[nodiscard]] std::vector<T> download(const T* from, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    device().download(values.data(), from, values.size() * sizeof(T));
    return values;
  }

  template <typename Op>
  [[nodiscard]] LaunchTotals run(const Op& op) {
    const std::size_t bytes = backend_->workspace_bytes(op);
    forget_launches();
    backend_->run(op, {allocate(bytes), bytes});
    return launches();
  }
  /// One launch of a test's kernel.
  template <typename Arguments>
  [[nodiscard]] LaunchTotals launch(const std::string& kernel, const gpu::LaunchShape& shape,
                                    const Arguments& arguments) {
    forget_launches();
    ops::gpu::gpu(device()).launch(kernel, shape, arguments);
    return launches();
  }

 private:
  [[nodiscard]] ops::Device& device() { return backend_->device(); }
  [[nodiscard]] std::byte* allocate(std::size_t bytes);
  void forget_launches() const;
  [[nodiscard]] LaunchTotals launches();

  std::unique_ptr<ops::Backend> backend_;
  std::filesystem::path log_;
  std::vector<std::shared_ptr<std::byte>> memory_;
};

}  // namespace octet::test
