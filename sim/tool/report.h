// What cdna-sim prints, as JSON and as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/counters/instruction_counts.h"
#include "sim/counters/traffic.h"
#include "sim/launch/program.h"

namespace octet::sim {

/// A kernel's registers, memory, arguments, and the instructions in it that cannot be executed.
[[nodiscard]] nlohmann::ordered_json kernel_json(const Program& program, const Kernel& kernel);
[[nodiscard]] std::string kernel_text(const Program& program, const Kernel& kernel);

/// Each instruction with its address; those that cannot be executed are marked.
[[nodiscard]] nlohmann::ordered_json disassembly_json(const Program& program);
[[nodiscard]] std::string disassembly_text(const Program& program);

/// Instructions that accessed global memory, with what they moved: `traffic` is [instructions].
[[nodiscard]] nlohmann::ordered_json traffic_json(const Program& program, const std::vector<Traffic>& traffic);
[[nodiscard]] std::string traffic_text(const Program& program, const std::vector<Traffic>& traffic);

[[nodiscard]] nlohmann::ordered_json counts_json(const InstructionCounts& counts);
[[nodiscard]] std::string counts_text(const InstructionCounts& counts);

}  // namespace octet::sim
