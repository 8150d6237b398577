// The memory side of a printed plan: what a run holds, what other choices would come to, what one GPU holds.
#pragma once

#include <string>

#include "train/engine.h"
#include "train/plan_choices.h"

namespace octet::cli {

/// The arena by class, what waits in it for backward, the copy for checkpoints, gradients' dtypes and lives.
[[nodiscard]] std::string memory_text(const Engine& engine, const Config& config);
[[nodiscard]] std::string choices_text(const Config& config, const PlanChoices& choices);
/// Bytes per parameter, and the parameter groups.
[[nodiscard]] std::string optimizer_text(const Engine& engine, const Config& config);
/// Plans for every card of kCards.
[[nodiscard]] std::string cards_text(const Config& config, bool keeps_gradients);

}  // namespace octet::cli
