#include "sim/tool/kernel_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "sim/counters/static_counts.h"

namespace octet::sim {
namespace {

/// Texts of instructions of the kernel that cannot be executed, each once.
std::set<std::string> unknown_instructions(const Program& program, const Kernel& kernel) {
  std::set<std::string> texts;
  for (std::uint32_t number = program.entry(kernel); number < program.end(kernel); ++number) {
    if (!program.is_known(number)) texts.insert(program.text(number));
  }
  return texts;
}

nlohmann::ordered_json arguments_json(const Kernel& kernel) {
  nlohmann::ordered_json arguments = nlohmann::json::array();
  for (const Argument& argument : kernel.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    arguments.push_back(
        {{"name", argument.name}, {"kind", argument.kind}, {"offset", argument.offset}, {"bytes", argument.size}});
  }
  return arguments;
}

/// {"4": 2, "16": 8}
nlohmann::ordered_json widths_json(const WidthCounts& widths) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [bytes, instructions] : widths) json[std::to_string(bytes)] = instructions;
  return json;
}

nlohmann::ordered_json code_json(const CodeCounts& counts) {
  return {{"instructions", counts.instructions},
          {"global_loads", widths_json(counts.global_loads)},
          {"global_stores", widths_json(counts.global_stores)},
          {"global_atomics", counts.global_atomics},
          {"lds_loads", widths_json(counts.lds_loads)},
          {"lds_stores", widths_json(counts.lds_stores)},
          {"lds_atomics", counts.lds_atomics},
          {"scratch", counts.scratch},
          {"matrix", counts.matrix},
          {"barriers", counts.barriers},
          {"waits", counts.waits},
          {"cache_maintenance", counts.cache_maintenance},
          {"branches", counts.branches},
          {"not_implemented", counts.not_implemented}};
}

nlohmann::ordered_json loops_json(const StaticCounts& counts) {
  nlohmann::ordered_json loops = nlohmann::json::array();
  for (const LoopCounts& loop : counts.loops) {
    nlohmann::ordered_json json{{"begin", loop.begin}, {"end", loop.end}};
    json.update(code_json(loop.counts));
    loops.push_back(std::move(json));
  }
  return loops;
}

/// ", global loads 4 of 16 bytes and 2 of 4"; nothing where there are none.
std::string widths_text(const char* what, const WidthCounts& widths) {
  std::vector<std::string> parts;
  for (auto width = widths.rbegin(); width != widths.rend(); ++width) {
    parts.push_back(fmt::format("{} of {}{}", width->second, width->first, parts.empty() ? " bytes" : ""));
  }
  return parts.empty() ? "" : fmt::format(", {} {}", what, fmt::join(parts, " and "));
}

std::string code_text(const CodeCounts& counts) {
  std::string text = fmt::format("{} instructions", counts.instructions);
  text += widths_text("global loads", counts.global_loads) + widths_text("global stores", counts.global_stores);
  text += widths_text("LDS loads", counts.lds_loads) + widths_text("LDS stores", counts.lds_stores);
  const auto add = [&](const char* what, std::uint32_t count) {
    if (count > 0) text += fmt::format(", {} {}", what, count);
  };
  add("global atomics", counts.global_atomics);
  add("LDS atomics", counts.lds_atomics);
  add("scratch", counts.scratch);
  add("matrix", counts.matrix);
  add("barriers", counts.barriers);
  add("cache maintenance", counts.cache_maintenance);
  return text;
}

Occupancy at_largest_workgroup(const Program& program, const Kernel& kernel) {
  return occupancy(kernel, program.object().generation, kernel.largest_workgroup);
}

}  // namespace

nlohmann::ordered_json kernel_json(const Program& program, const Kernel& kernel) {
  const StaticCounts counts = static_counts(program, kernel);
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
          {"occupancy", occupancy_json(at_largest_workgroup(program, kernel))},
          {"arguments", arguments_json(kernel)},
          {"code", code_json(counts.whole)},
          {"loops", loops_json(counts)},
          {"not_implemented", unknown_instructions(program, kernel)}};
}

std::string kernel_line(const Program& program, const Kernel& kernel) {
  return fmt::format(
      "{} ({}): {} SGPRs, {} VGPRs of which {} are AGPRs, {} bytes of LDS, {} of scratch, {} spilled registers\n",
      kernel.name, processor(program.object().generation), kernel.sgprs, kernel.vgprs, kernel.agprs, kernel.lds_bytes,
      kernel.scratch_bytes, kernel.spilled_sgprs + kernel.spilled_vgprs);
}

std::string kernel_text(const Program& program, const Kernel& kernel) {
  std::string text = kernel_line(program, kernel);
  std::vector<std::string> arguments;
  for (const Argument& argument : kernel.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    arguments.push_back(fmt::format("{}{}{} bytes, {}", argument.name, argument.name.empty() ? "" : ": ", argument.size,
                                    argument.kind));
  }
  text += fmt::format("  arguments: {}\n", fmt::join(arguments, "; "));
  text += fmt::format("  workgroups of {} lanes: {}\n", kernel.largest_workgroup,
                      occupancy_text(at_largest_workgroup(program, kernel)));
  const StaticCounts counts = static_counts(program, kernel);
  text += fmt::format("  code: {}\n", code_text(counts.whole));
  for (const LoopCounts& loop : counts.loops) {
    text += fmt::format("  loop from {:x} to {:x}: {}\n", loop.begin, loop.end, code_text(loop.counts));
  }
  for (const std::string& unknown : unknown_instructions(program, kernel)) {
    text += fmt::format("  not implemented: {}\n", unknown);
  }
  return text;
}

nlohmann::ordered_json occupancy_json(const Occupancy& occupancy) {
  nlohmann::ordered_json limits = nlohmann::ordered_json::object();
  for (const auto& [resource, workgroups] : occupancy.workgroups_by) limits[std::string(name(resource))] = workgroups;
  return {{"waves_per_workgroup", occupancy.waves_per_workgroup},
          {"workgroups_per_cu", occupancy.workgroups_per_cu},
          {"waves_per_cu", occupancy.waves_per_cu},
          {"limited_by", name(occupancy.limited_by)},
          {"workgroups_by", std::move(limits)}};
}

std::string occupancy_text(const Occupancy& occupancy) {
  return fmt::format("a compute unit holds {}, {} of 32 waves, limited by {}", occupancy.workgroups_per_cu,
                     occupancy.waves_per_cu, name(occupancy.limited_by));
}

}  // namespace octet::sim
