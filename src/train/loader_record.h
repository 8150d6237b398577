// The position in the data as a checkpoint's state.json has it.
#pragma once

#include <nlohmann/json.hpp>

#include "data/mix.h"

namespace octet {

/// {"epoch", "next"} of one source; of a mix {"sources": [{"rule", "epoch", "next"}, ...]}.
[[nodiscard]] nlohmann::json describe_position(const MixState& state);

/// Throws nlohmann::json::exception for anything else.
[[nodiscard]] MixState read_position(const nlohmann::json& described);

}  // namespace octet
