// A plan as JSON: what octet train --dry-run --json prints beyond what run.json holds.
#pragma once

#include <nlohmann/json.hpp>

#include "train/capacity.h"
#include "train/plan_choices.h"

namespace octet {

/// {"saved_inputs", "recompute", "weight_codes"}: bytes and FLOPs that each choice saves and costs.
[[nodiscard]] nlohmann::ordered_json describe_choices(const PlanChoices& choices);

/// {"card", "bytes", "reserved_bytes", "planned_bytes", "fits", "remedy", "largest"}; "remedy" is null where none is
/// needed or none helps, "largest" where no length fits.
[[nodiscard]] nlohmann::ordered_json describe_capacity(const Capacity& capacity);

}  // namespace octet
