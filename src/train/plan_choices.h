// What a plan's choices come to: what waits for backward and in which form, what recompute and weight codes save and
// cost, and what the optimizer keeps. Each is compared with a plan that was made of the other choice.
#pragma once

#include <cstdint>
#include <vector>

#include "train/engine.h"
#include "train/parameter_groups.h"
#include "train/planning_backend.h"

namespace octet {

/// What a plan depends on besides the configuration.
struct PlannedRun {
  PlannedMemory memory = PlannedMemory::host;
  bool keeps_gradients = false;  ///< for who reads them after the update
};
/// That of a run of the engine: its alternatives share it.
[[nodiscard]] PlannedRun planned_run(const Engine& engine);

/// An engine that only plans, without op workspace, which differs from device to device.
[[nodiscard]] Engine plan_without_workspace(const Config& config, const PlannedRun& run);

/// Activations that wait when backward begins, in bytes.
struct SavedForBackward {
  std::size_t bytes = 0;
  std::size_t codes = 0;  ///< of them FP8 codes with their scales and maxima
};
[[nodiscard]] SavedForBackward saved_for_backward(const MemoryPlan& plan);

/// What is kept of each parameter, in bytes. Gradients that are not written by one op are fp32 whatever `gradient`
/// says.
struct ParameterBytes {
  std::size_t weight = 0, master = 0, gradient = 0, moments = 0;
  GradientLife gradient_life = GradientLife::run;

  [[nodiscard]] bool keeps_gradients() const { return gradient_life == GradientLife::run; }
  /// Through the run.
  [[nodiscard]] std::size_t sum() const { return weight + master + moments + (keeps_gradients() ? gradient : 0); }
};
[[nodiscard]] ParameterBytes parameter_bytes(const SlabStorage& storage);

/// Elements whose gradients one op writes, and those whose gradients are sums in parts, which are fp32.
struct GradientElements {
  std::int64_t written_once = 0, summed = 0;
};
[[nodiscard]] GradientElements gradient_elements(const Parameters& parameters);

[[nodiscard]] std::vector<ParameterGroupSize> parameter_group_sizes(const Config& config, const Model& model);

/// A setting of training.recompute beside "none".
struct RecomputeCost {
  Config::Recompute recompute = Config::Recompute::none;
  std::size_t saved = 0;   ///< bytes that the arena is smaller by
  Work added;              ///< to a step
  double flops_share = 0;  ///< of the FLOPs of a step without recompute
};

struct PlanChoices {
  std::size_t codes_save = 0;            ///< bytes that wait for backward less than with saved_inputs = "bf16"
  std::vector<RecomputeCost> recompute;  ///< of the setting in use or, where that is "none", of both others
  std::size_t per_use_saves = 0;         ///< bytes that the arena is smaller by with weight_codes = "per_use"
  double per_use_moves = 0;              ///< bytes that a step moves more than with "cached"
};

/// Plans the alternatives of `config`.
[[nodiscard]] PlanChoices weigh_choices(const Config& config, const PlannedRun& run);

}  // namespace octet
