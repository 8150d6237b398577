// A simulated GPU for tests: a memory, a program, buffers that are vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/thread_pool.h"
#include "sim/elf/code_object.h"
#include "sim/launch/launch.h"
#include "sim/launch/program.h"
#include "sim/memory/memory.h"

namespace octet::sim {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

[[nodiscard]] inline std::vector<std::byte> file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> characters{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(characters.size());
  std::memcpy(bytes.data(), characters.data(), bytes.size());
  return bytes;
}

/// So many workgroups of 256 lanes.
[[nodiscard]] constexpr LaunchConfig blocks(u32 count) {
  return {{count, 1, 1}, {256, 1, 1}, 0};
}

/// Where the build puts test kernels.
[[nodiscard]] inline std::filesystem::path kernel_path(const std::string& source, Generation generation) {
  return std::filesystem::path(OCTET_SIM_KERNELS) / (source + "." + std::string(processor(generation)) + ".co");
}

class Gpu {
 public:
  Gpu(const std::string& source, Generation generation, int threads = 2)
      : program_(read_code_object(file_bytes(kernel_path(source, generation)), source), memory_), pool_(threads) {}

  template <typename T>
  [[nodiscard]] u64 upload(const std::vector<T>& values, const std::string& name) {
    const u64 address = memory_.allocate(values.size() * sizeof(T), name);
    memory_.write(address, std::as_bytes(std::span(values)));
    return address;
  }

  template <typename T>
  [[nodiscard]] std::vector<T> download(u64 address, std::size_t count) const {
    std::vector<T> values(count);
    memory_.read(address, std::as_writable_bytes(std::span(values)));
    return values;
  }

  /// Arguments by value in the kernel's order, each at its natural alignment: addresses, integers, floats.
  template <typename... Arguments>
  LaunchResult launch(const std::string& kernel, const LaunchConfig& config, const Arguments&... arguments) {
    std::vector<std::byte> packed;
    (pack(packed, arguments), ...);
    return sim::launch(program_, kernel, config, packed, memory_, pool_, listeners_);
  }

  /// Of later launches, one for each thread.
  void listen(std::vector<AccessListener*> listeners) { listeners_ = std::move(listeners); }

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] Memory& memory() { return memory_; }

 private:
  template <typename T>
  static void pack(std::vector<std::byte>& packed, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t at = (packed.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    packed.resize(at + sizeof(T));
    std::memcpy(packed.data() + at, &value, sizeof(T));
  }

  Memory memory_;
  Program program_;
  ThreadPool pool_;
  std::vector<AccessListener*> listeners_;
};

}  // namespace octet::sim
