// What cdna-sim says of a kernel without running it, as JSON and as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/counters/occupancy.h"
#include "sim/launch/program.h"

namespace octet::sim {

/// Registers, memory, occupancy at the largest workgroup, arguments, what the machine code holds, and the instructions
/// in it that cannot be executed.
[[nodiscard]] nlohmann::ordered_json kernel_json(const Program& program, const Kernel& kernel);
[[nodiscard]] std::string kernel_text(const Program& program, const Kernel& kernel);

/// The first line of kernel_text().
[[nodiscard]] std::string kernel_line(const Program& program, const Kernel& kernel);

[[nodiscard]] nlohmann::ordered_json occupancy_json(const Occupancy& occupancy);
/// "a compute unit holds 8 workgroups, 32 of 32 waves, limited by vgprs"
[[nodiscard]] std::string occupancy_text(const Occupancy& occupancy);

}  // namespace octet::sim
