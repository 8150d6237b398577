#include "sim/tool/report.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace octet::sim {
namespace {

/// Texts of instructions of the kernel that cannot be executed, each once.
std::set<std::string> unknown_instructions(const Program& program, const Kernel& kernel) {
  std::set<std::string> texts;
  for (std::uint32_t number = program.entry(kernel); number < program.instructions().size(); ++number) {
    if (program.address(number) >= kernel.entry + kernel.code_bytes) break;
    if (!program.is_known(number)) texts.insert(program.text(number));
  }
  return texts;
}

}  // namespace

nlohmann::ordered_json kernel_json(const Program& program, const Kernel& kernel) {
  nlohmann::ordered_json arguments = nlohmann::json::array();
  for (const Argument& argument : kernel.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    arguments.push_back(
        {{"name", argument.name}, {"kind", argument.kind}, {"offset", argument.offset}, {"bytes", argument.size}});
  }
  return {{"name", kernel.name},
          {"processor", processor(program.object().generation)},
          {"code_bytes", kernel.code_bytes},
          {"sgprs", kernel.sgprs},
          {"vgprs", kernel.vgprs},
          {"agprs", kernel.agprs},
          {"spilled_sgprs", kernel.spilled_sgprs},
          {"spilled_vgprs", kernel.spilled_vgprs},
          {"scratch_bytes", kernel.scratch_bytes},
          {"lds_bytes", kernel.lds_bytes},
          {"largest_workgroup", kernel.largest_workgroup},
          {"waves_per_simd", waves_per_simd(kernel)},
          {"arguments", std::move(arguments)},
          {"not_implemented", unknown_instructions(program, kernel)}};
}

std::string kernel_text(const Program& program, const Kernel& kernel) {
  std::string text = fmt::format(
      "{} ({}): {} bytes of code, {} SGPRs, {} VGPRs of which {} are AGPRs, {} waves a SIMD, {} bytes of LDS, {} of "
      "scratch, {} spilled registers\n",
      kernel.name, processor(program.object().generation), kernel.code_bytes, kernel.sgprs, kernel.vgprs, kernel.agprs,
      waves_per_simd(kernel), kernel.lds_bytes, kernel.scratch_bytes, kernel.spilled_sgprs + kernel.spilled_vgprs);
  for (const std::string& unknown : unknown_instructions(program, kernel)) {
    text += fmt::format("  not implemented: {}\n", unknown);
  }
  return text;
}

nlohmann::ordered_json disassembly_json(const Program& program) {
  nlohmann::ordered_json lines = nlohmann::json::array();
  for (std::uint32_t number = 0; number < program.instructions().size(); ++number) {
    lines.push_back({{"address", program.address(number)},
                     {"text", program.text(number)},
                     {"source", program.object().lines.at(program.address(number))},
                     {"family", name(program.family(number))},
                     {"implemented", program.is_known(number)}});
  }
  return lines;
}

std::string disassembly_text(const Program& program) {
  std::string text;
  std::string last_line;
  for (std::uint32_t number = 0; number < program.instructions().size(); ++number) {
    for (const auto& [kernel_name, kernel] : program.object().kernels) {
      if (kernel.entry == program.address(number)) text += fmt::format("{}:\n", kernel_name);
    }
    std::string line = program.object().lines.at(program.address(number));
    if (line != last_line && !line.empty()) text += fmt::format("; {}\n", line);
    last_line = std::move(line);
    fmt::format_to(std::back_inserter(text), "{:8x}  {}{}\n", program.address(number), program.text(number),
                   program.is_known(number) ? "" : "    ; not implemented");
  }
  return text;
}

nlohmann::ordered_json traffic_json(const Program& program, const std::vector<Traffic>& traffic) {
  nlohmann::ordered_json lines = nlohmann::json::array();
  for (std::uint32_t number = 0; number < traffic.size(); ++number) {
    const Traffic& moved = traffic[number];
    if (moved.accesses == 0) continue;
    lines.push_back({{"address", program.address(number)},
                     {"text", program.text(number)},
                     {"accesses", moved.accesses},
                     {"bytes", moved.bytes},
                     {"segments_64", moved.segments_64},
                     {"least_segments_64", moved.least_segments_64},
                     {"segments_128", moved.segments_128},
                     {"least_segments_128", moved.least_segments_128}});
  }
  return lines;
}

std::string traffic_text(const Program& program, const std::vector<Traffic>& traffic) {
  std::string text = "    address        bytes  64-byte segments (least)  128-byte segments (least)\n";
  for (std::uint32_t number = 0; number < traffic.size(); ++number) {
    const Traffic& moved = traffic[number];
    if (moved.accesses == 0) continue;
    fmt::format_to(std::back_inserter(text), "  {:9x} {:>12} {:>12} {:>12} {:>13} {:>12}  {}\n",
                   program.address(number), moved.bytes, moved.segments_64,
                   fmt::format("({})", moved.least_segments_64), moved.segments_128,
                   fmt::format("({})", moved.least_segments_128), program.text(number));
  }
  return text;
}

nlohmann::ordered_json counts_json(const InstructionCounts& counts) {
  nlohmann::ordered_json families = nlohmann::ordered_json::object();
  for (const auto& [family, times] : counts.of_family) families[std::string(name(family))] = times;
  return {{"instructions", counts.total},
          {"families", std::move(families)},
          {"barriers", counts.barriers},
          {"cache_maintenance", counts.cache_maintenance},
          {"mnemonics", counts.of_mnemonic}};
}

std::string counts_text(const InstructionCounts& counts) {
  std::string text = fmt::format("{} instructions of waves\n", counts.total);
  for (const auto& [family, times] : counts.of_family) text += fmt::format("  {:<14} {:>12}\n", name(family), times);
  text += fmt::format("{} barriers, {} of cache maintenance\n", counts.barriers, counts.cache_maintenance);
  return text;
}

}  // namespace octet::sim
