#include "sim/tool/disassembly.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "sim/counters/instruction_counts.h"
#include "sim/counters/mnemonics.h"

namespace octet::sim {
namespace {

/// Numbers of instructions: from `begin` up to `end`, which is not among them.
struct Range {
  std::uint32_t begin;
  std::uint32_t end;
};

Range range(const Program& program, const Kernel* kernel) {
  if (kernel == nullptr) return {0, static_cast<std::uint32_t>(program.instructions().size())};
  return {program.entry(*kernel), program.end(*kernel)};
}

/// Names for the instructions to which branches of the range go: L1, L2, ... in their order.
std::map<std::uint32_t, std::string> labels(const Program& program, const Range& range) {
  std::map<std::uint32_t, std::string> names;
  for (std::uint32_t number = range.begin; number < range.end; ++number) {
    const std::optional<std::uint32_t> target = program.branch_target(number);
    if (target && *target >= range.begin && *target < range.end) names[*target];
  }
  std::size_t count = 0;
  for (auto& [number, label] : names) label = fmt::format("L{}", ++count);
  return names;
}

/// The text as LLVM has it, but a branch with the name or the address of its target.
std::string readable(const Program& program, std::uint32_t number, const std::map<std::uint32_t, std::string>& labels) {
  const std::optional<std::uint32_t> target = program.branch_target(number);
  if (!target) return program.text(number);
  const std::string_view name = mnemonic(program.text(number));
  const auto label = labels.find(*target);
  if (label != labels.end()) return fmt::format("{} {}", name, label->second);
  return fmt::format("{} {:#x}", name, program.address(*target));
}

}  // namespace

nlohmann::ordered_json disassembly_json(const Program& program, const Kernel* kernel) {
  const Range shown = range(program, kernel);
  nlohmann::ordered_json lines = nlohmann::json::array();
  for (std::uint32_t number = shown.begin; number < shown.end; ++number) {
    nlohmann::ordered_json line{{"address", program.address(number)},
                                {"text", program.text(number)},
                                {"source", program.object().lines.at(program.address(number))},
                                {"family", name(program.family(number))},
                                {"implemented", program.is_known(number)}};
    if (const auto target = program.branch_target(number)) line["target"] = program.address(*target);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string disassembly_text(const Program& program, const Kernel* kernel) {
  const Range shown = range(program, kernel);
  const std::map<std::uint32_t, std::string> names = labels(program, shown);
  std::map<std::uint64_t, std::string> entries;
  for (const auto& [kernel_name, entered] : program.object().kernels) entries[entered.entry] = kernel_name;
  std::string text;
  std::string last_line;
  for (std::uint32_t number = shown.begin; number < shown.end; ++number) {
    const std::uint64_t address = program.address(number);
    if (const auto entry = entries.find(address); entry != entries.end()) text += fmt::format("{}:\n", entry->second);
    if (const auto label = names.find(number); label != names.end()) text += fmt::format("{}:\n", label->second);
    std::string line = program.object().lines.at(address);
    if (line != last_line && !line.empty()) text += fmt::format("; {}\n", line);
    last_line = std::move(line);
    fmt::format_to(std::back_inserter(text), "{:8x}  {}{}\n", address, readable(program, number, names),
                   program.is_known(number) ? "" : "    ; not implemented");
  }
  return text;
}

}  // namespace octet::sim
