// What cdna-sim disassembles, as JSON and as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/launch/program.h"

namespace octet::sim {

/// Each instruction of a kernel, or with null of the whole code, with its address and its branch's target; those that
/// cannot be executed are marked. In the text, branches name labels.
[[nodiscard]] nlohmann::ordered_json disassembly_json(const Program& program, const Kernel* kernel);
[[nodiscard]] std::string disassembly_text(const Program& program, const Kernel* kernel);

}  // namespace octet::sim
