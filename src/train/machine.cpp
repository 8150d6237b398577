#include "train/machine.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <CLI/Version.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/files.h"
#include "io/safetensors.h"
#include "ops/cpu/cpu_backend.h"
#include "ops/cpu/tile_product.h"

namespace octet {
namespace {

std::string cpu_model_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

MachineFacts machine_facts() {
  const auto pages = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page_bytes = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  return {cpu_model_name(), static_cast<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN)),
          std::string(ops::name(ops::detect_cpu_isa())), pages * page_bytes};
}

std::map<std::string, std::string> library_versions() {
  return {{"oneDNN", ops::cpu::TileProducts::description()},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"nlohmann-json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                        NLOHMANN_JSON_VERSION_PATCH)},
          {"toml++", fmt::format("{}.{}.{}", TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)},
          {"CLI11", CLI11_VERSION},
          {"compiler", __VERSION__}};
}

std::string binary_hash() {
  const MappedFile binary("/proc/self/exe");
  return fmt::format("{:016x}", checksum(binary.bytes()));
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
}

std::optional<std::size_t> available_host_bytes() {
  std::ifstream memory("/proc/meminfo");
  for (std::string line; std::getline(memory, line);) {
    std::istringstream words(line);
    std::string name;
    std::size_t kib = 0;
    if (words >> name >> kib && name == "MemAvailable:") return kib * 1024;
  }
  return std::nullopt;
}

std::string iso_time() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace octet
