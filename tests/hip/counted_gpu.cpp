#include "hip/counted_gpu.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "ops/gpu/gpu_backend.h"
#include "sim/counters/mnemonics.h"

namespace octet::test {
namespace {

void add(const std::map<std::uint32_t, std::uint64_t>& from, std::map<std::uint32_t, std::uint64_t>& to) {
  for (const auto& [width, bytes] : from) to[width] += bytes;
}

/// Of a line of the log, in the form of `cdna-sim count --json`.
LaunchTotals totals(const nlohmann::json& line) {
  LaunchTotals totals;
  totals.launches = 1;
  for (const auto& traffic : line.at("global")) {  // reads, writes, atomics
    totals.bytes += traffic.at("bytes").get<std::uint64_t>();
    totals.segments_64 += traffic.at("segments_64").get<std::uint64_t>();
    totals.least_segments_64 += traffic.at("least_segments_64").get<std::uint64_t>();
    totals.segments_128 += traffic.at("segments_128").get<std::uint64_t>();
    totals.least_segments_128 += traffic.at("least_segments_128").get<std::uint64_t>();
  }
  const nlohmann::json& instructions = line.at("instructions");
  totals.instructions = instructions.at("total");
  totals.atomics = instructions.at("global_atomics");
  totals.cache_maintenance = instructions.at("cache_maintenance");
  for (const auto& instruction : line.at("by_instruction")) {
    if (!instruction.contains("global")) continue;
    const auto name = instruction.at("text").get<std::string>();
    const auto memory = sim::memory_instruction(sim::mnemonic(name));
    check(memory.has_value(), "what accesses global memory is a memory instruction");
    if (memory->use == sim::MemoryUse::atomic) continue;
    auto& by_width = memory->use == sim::MemoryUse::load ? totals.loaded : totals.stored;
    by_width[memory->bytes] += instruction.at("global").at("bytes").get<std::uint64_t>();
  }
  return totals;
}

}  // namespace

LaunchTotals& LaunchTotals::operator+=(const LaunchTotals& other) {
  launches += other.launches;
  bytes += other.bytes;
  segments_64 += other.segments_64;
  least_segments_64 += other.least_segments_64;
  segments_128 += other.segments_128;
  least_segments_128 += other.least_segments_128;
  instructions += other.instructions;
  atomics += other.atomics;
  cache_maintenance += other.cache_maintenance;
  add(other.loaded, loaded);
  add(other.stored, stored);
  return *this;
}

CountedGpu::CountedGpu(int index, std::filesystem::path log)
    : backend_(ops::make_hip_backend(index)), log_(std::move(log)) {}

std::byte* CountedGpu::allocate(std::size_t bytes) {
  return memory_.emplace_back(device().allocator()(std::max<std::size_t>(bytes, 1))).get();
}

void CountedGpu::forget_launches() const {
  const std::ofstream emptied(log_);
}

LaunchTotals CountedGpu::launches() {
  device().finish();
  LaunchTotals sum;
  std::ifstream log(log_);
  for (std::string line; std::getline(log, line);) sum += totals(nlohmann::json::parse(line));
  return sum;
}

}  // namespace octet::test
