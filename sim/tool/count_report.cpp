#include "sim/tool/count_report.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/tool/kernel_report.h"

namespace octet::sim {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::uint64_t volume(const Extent& extent) {
  return std::uint64_t{extent.x} * extent.y * extent.z;
}

std::uint64_t waves(const LaunchConfig& config) {
  return volume(config.workgroups) * ((volume(config.lanes) + kLanes - 1) / kLanes);
}

Occupancy occupancy_of(const LaunchCounts& counts) {
  return occupancy(counts.kernel, counts.program.object().generation,
                   static_cast<std::uint32_t>(volume(counts.config.lanes)), counts.config.dynamic_lds_bytes);
}

AccessCounts total(const std::vector<AccessCounts>& accesses) {
  AccessCounts sum;
  for (const AccessCounts& count : accesses) sum += count;
  return sum;
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

Json traffic_json(const Traffic& traffic) {
  return {{"accesses", traffic.accesses},
          {"bytes", traffic.bytes},
          {"segments_64", traffic.segments_64},
          {"least_segments_64", traffic.least_segments_64},
          {"share_64", traffic.share_64()},
          {"segments_128", traffic.segments_128},
          {"least_segments_128", traffic.least_segments_128},
          {"share_128", traffic.share_128()}};
}

Json lds_json(const LdsCost& cost) {
  return {{"accesses", cost.accesses},
          {"bytes", cost.bytes},
          {"cycles", cost.cycles},
          {"conflict_cycles", cost.conflict_cycles}};
}

template <typename Count>
Json by_kind_json(const ByKind<Count>& counts, Json (*json)(const Count&)) {
  return {{"read", json(counts.read)}, {"write", json(counts.write)}, {"atomic", json(counts.update)}};
}

Json instructions_json(const InstructionCounts& counts, std::uint64_t waves) {
  Json families = Json::object();
  for (const auto& [family, times] : counts.of_family) families[std::string(name(family))] = times;
  return {{"total", counts.total},
          {"per_wave", ratio(counts.total, waves)},
          {"families", std::move(families)},
          {"branches", counts.branches},
          {"branches_taken", counts.branches_taken},
          {"barriers", counts.barriers},
          {"waits", counts.waits},
          {"cache_maintenance", counts.cache_maintenance},
          {"global_atomics", counts.global_atomics},
          {"lds_atomics", counts.lds_atomics},
          {"mnemonics", counts.of_mnemonic}};
}

Json matrix_json(const InstructionCounts& counts) {
  Json mnemonics = Json::object();
  for (const auto& [name, count] : counts.matrix) {
    mnemonics[name] = {{"instructions", count.instructions}, {"operations", count.operations}};
  }
  const MatrixCount all = counts.all_matrix();
  return {{"instructions", all.instructions}, {"operations", all.operations}, {"mnemonics", std::move(mnemonics)}};
}

/// Of each instruction that accessed memory.
Json by_instruction_json(const LaunchCounts& counts) {
  Json lines = nlohmann::json::array();
  for (std::uint32_t number = 0; number < counts.accesses.size(); ++number) {
    const AccessCounts& accesses = counts.accesses[number];
    if (accesses == AccessCounts{}) continue;
    Json line{{"address", counts.program.address(number)},
              {"text", counts.program.text(number)},
              {"executed", counts.result.executed[number]}};
    if (const Traffic global = accesses.global.total(); global.accesses > 0) line["global"] = traffic_json(global);
    if (const LdsCost lds = accesses.lds.total(); lds.accesses > 0) line["lds"] = lds_json(lds);
    if (accesses.scratch_accesses > 0) {
      line["scratch"] = {{"accesses", accesses.scratch_accesses}, {"bytes", accesses.scratch_bytes}};
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

/// What there is for each of the elements: instructions of lanes, 64 for an instruction of a wave.
Json per_element_json(const InstructionCounts& instructions, const AccessCounts& accesses, std::uint64_t elements) {
  return {{"instructions", ratio(instructions.total * kLanes, elements)},
          {"matrix_operations", ratio(instructions.all_matrix().operations, elements)},
          {"bytes_read", ratio(accesses.global.read.bytes, elements)},
          {"bytes_written", ratio(accesses.global.write.bytes, elements)},
          {"lds_bytes", ratio(accesses.lds.total().bytes, elements)}};
}

void append_traffic(std::string& text, std::string_view what, const Traffic& traffic) {
  if (traffic.accesses == 0) return;
  fmt::format_to(std::back_inserter(text), "  {:<10} {:>9} {:>12} {:>9} {:>9} {:>6.2f} {:>9} {:>9} {:>6.2f}\n", what,
                 traffic.accesses, traffic.bytes, traffic.segments_64, traffic.least_segments_64, traffic.share_64(),
                 traffic.segments_128, traffic.least_segments_128, traffic.share_128());
}

void append_lds(std::string& text, std::string_view what, const LdsCost& cost) {
  if (cost.accesses == 0) return;
  fmt::format_to(std::back_inserter(text), "  {:<10} {:>9} {:>12} {:>9} {:>9}\n", what, cost.accesses, cost.bytes,
                 cost.cycles, cost.conflict_cycles);
}

/// Of the whole launch.
std::string memory_text(const LaunchCounts& counts) {
  const AccessCounts all = total(counts.accesses);
  std::string text;
  if (all.global.total().accesses > 0) {
    text += fmt::format("{:<12} {:>9} {:>12} {:>9} {:>9} {:>6} {:>9} {:>9} {:>6}\n", "global", "accesses", "bytes",
                        "64 bytes", "least", "share", "128 bytes", "least", "share");
    append_traffic(text, "read", all.global.read);
    append_traffic(text, "write", all.global.write);
    append_traffic(text, "atomic", all.global.update);
  }
  if (all.lds.total().accesses > 0) {
    text += fmt::format("{:<12} {:>9} {:>12} {:>9} {:>9}\n", "LDS", "accesses", "bytes", "cycles", "conflicts");
    append_lds(text, "read", all.lds.read);
    append_lds(text, "write", all.lds.write);
    append_lds(text, "atomic", all.lds.update);
  }
  if (all.scratch_accesses > 0) {
    text += fmt::format("scratch: {} accesses, {} bytes\n", all.scratch_accesses, all.scratch_bytes);
  }
  return text;
}

/// Of each instruction that accessed memory, in the columns of the whole launch.
std::string by_instruction_text(const LaunchCounts& counts) {
  std::string text;
  for (std::uint32_t number = 0; number < counts.accesses.size(); ++number) {
    const AccessCounts& accesses = counts.accesses[number];
    if (accesses == AccessCounts{}) continue;
    fmt::format_to(std::back_inserter(text), "{:x}: {}\n", counts.program.address(number), counts.program.text(number));
    append_traffic(text, "global", accesses.global.total());
    append_lds(text, "LDS", accesses.lds.total());
    if (accesses.scratch_accesses > 0) {
      fmt::format_to(std::back_inserter(text), "  {:<10} {:>9} {:>12}\n", "scratch", accesses.scratch_accesses,
                     accesses.scratch_bytes);
    }
  }
  return text;
}

std::string instructions_text(const InstructionCounts& counts, std::uint64_t waves) {
  std::string text = fmt::format("instructions: {}, {:.1f} a wave\n", counts.total, ratio(counts.total, waves));
  for (const auto& [family, times] : counts.of_family) {
    fmt::format_to(std::back_inserter(text), "  {:<14} {:>12}\n", name(family), times);
  }
  for (const auto& [name, count] : counts.matrix) {
    fmt::format_to(std::back_inserter(text), "  {}: {}, {} operations\n", name, count.instructions, count.operations);
  }
  fmt::format_to(std::back_inserter(text),
                 "branches {} ({} taken), barriers {}, waits {}, cache maintenance {}, atomics {} global and {} LDS\n",
                 counts.branches, counts.branches_taken, counts.barriers, counts.waits, counts.cache_maintenance,
                 counts.global_atomics, counts.lds_atomics);
  return text;
}

}  // namespace

Json launch_json(const LaunchConfig& config) {
  const auto extent = [](const Extent& sizes) { return Json::array({sizes.x, sizes.y, sizes.z}); };
  return {{"workgroups", extent(config.workgroups)},
          {"lanes", extent(config.lanes)},
          {"waves", waves(config)},
          {"dynamic_lds_bytes", config.dynamic_lds_bytes}};
}

std::string launch_text(const LaunchConfig& config) {
  return fmt::format("{} of {}, {}", counted(volume(config.workgroups), "workgroup"),
                     counted(volume(config.lanes), "lane"), counted(waves(config), "wave"));
}

Json counts_json(const LaunchCounts& counts) {
  const InstructionCounts instructions = count_instructions(counts.program, counts.result);
  const AccessCounts all = total(counts.accesses);
  Json json{{"version", 1},
            {"kernel", kernel_json(counts.program, counts.kernel)},
            {"launch", launch_json(counts.config)},
            {"occupancy", occupancy_json(occupancy_of(counts))},
            {"instructions", instructions_json(instructions, waves(counts.config))},
            {"matrix", matrix_json(instructions)},
            {"scalar_load_bytes", instructions.scalar_load_bytes},
            {"global", by_kind_json(all.global, traffic_json)},
            {"lds", by_kind_json(all.lds, lds_json)},
            {"scratch", {{"accesses", all.scratch_accesses}, {"bytes", all.scratch_bytes}}},
            {"by_instruction", by_instruction_json(counts)}};
  if (counts.elements) json["per_element"] = per_element_json(instructions, all, *counts.elements);
  return json;
}

std::string counts_text(const LaunchCounts& counts) {
  const InstructionCounts instructions = count_instructions(counts.program, counts.result);
  std::string text = kernel_line(counts.program, counts.kernel);
  text += fmt::format("launch: {}; {}\n", launch_text(counts.config), occupancy_text(occupancy_of(counts)));
  text += instructions_text(instructions, waves(counts.config));
  text += memory_text(counts);
  text += by_instruction_text(counts);
  if (!counts.elements) return text;
  const Json shares = per_element_json(instructions, total(counts.accesses), *counts.elements);
  text += fmt::format("for each of {} elements:", *counts.elements);
  for (const auto& [name, share] : shares.items()) text += fmt::format(" {} {:.6g}", name, share.get<double>());
  return text + '\n';
}

}  // namespace octet::sim
