#include "train/plan_choices.h"

#include <algorithm>

#include "train/model_setup.h"

namespace octet {
namespace {

/// The first piece of the backward pass of a model's train(): whatever is alive when it is born waits for backward.
constexpr std::string_view kFirstOfBackward = "dnormed";

/// Fragmentation can eat up a small saving.
std::size_t saving(const Engine& plain, const Engine& other) {
  const std::size_t before = plain.plan().arena_bytes;
  return before - std::min(before, other.plan().arena_bytes);
}

Work added_work(const Engine& plain, const Engine& other) {
  return {other.planned_work().flops - plain.planned_work().flops,
          other.planned_work().bytes - plain.planned_work().bytes};
}

Engine plan_with_recompute(Config config, const PlannedRun& run, Config::Recompute recompute) {
  config.training.recompute = recompute;
  return plan_without_workspace(config, run);
}

std::vector<RecomputeCost> weigh_recompute(const Config& config, const PlannedRun& run) {
  using enum Config::Recompute;
  std::vector<Config::Recompute> settings{config.training.recompute};
  if (config.training.recompute == none) settings = {selective, full};
  const Engine plain = plan_with_recompute(config, run, none);
  std::vector<RecomputeCost> costs;
  for (const Config::Recompute recompute : settings) {
    const Engine other = plan_with_recompute(config, run, recompute);
    const Work added = added_work(plain, other);
    costs.push_back({recompute, saving(plain, other), added, added.flops / plain.planned_work().flops});
  }
  return costs;
}

}  // namespace

PlannedRun planned_run(const Engine& engine) {
  return {engine.backend().device().host_memory() ? PlannedMemory::host : PlannedMemory::device,
          engine.storage().gradient_life == GradientLife::run};
}

Engine plan_without_workspace(const Config& config, const PlannedRun& run) {
  auto backend = make_planning_backend(run.memory);
  auto model = make_model(config, *backend);
  return {config, std::move(backend), std::move(model), run.keeps_gradients};
}

SavedForBackward saved_for_backward(const MemoryPlan& plan) {
  const auto step = plan.programs.find("step");
  const std::vector<PlannedPiece>& pieces = step != plan.programs.end() ? step->second : plan.programs.at("train");
  const auto first = std::find_if(pieces.begin(), pieces.end(),
                                  [](const PlannedPiece& piece) { return piece.name == kFirstOfBackward; });
  check(first != pieces.end(), "backward begins with the gradient of the final norm's output");
  SavedForBackward saved;
  for (auto piece = pieces.begin(); piece != first; ++piece) {
    if (piece->died < first->born) continue;
    saved.bytes += piece->bytes;
    if (piece->memory_class == MemoryClass::fp8_codes) saved.codes += piece->bytes;
  }
  return saved;
}

ParameterBytes parameter_bytes(const SlabStorage& storage) {
  return {size_of(DType::bf16), storage.master ? size_of(DType::f32) : 0, size_of(storage.gradients),
          2 * size_of(storage.moments), storage.gradient_life};
}

GradientElements gradient_elements(const Parameters& parameters) {
  GradientElements elements;
  for (const Slab& slab : parameters.slabs()) {
    for (const Parameter& parameter : slab.parameters()) {
      (parameter.gradient_is_written_once() ? elements.written_once : elements.summed) += parameter.numel();
    }
  }
  return elements;
}

std::vector<ParameterGroupSize> parameter_group_sizes(const Config& config, const Model& model) {
  const Parameters& parameters = model.parameters();
  return count_parameter_groups(
      parameters, assign_parameter_groups(parameters, config.optimizer.groups,
                                          {.weight_decay = config.optimizer.weight_decay, .lr_scale = 1}));
}

PlanChoices weigh_choices(const Config& config, const PlannedRun& run) {
  Config codes_saved = config;
  codes_saved.precision.saved_inputs = Config::SavedInputs::codes;
  Config bf16_saved = config;
  bf16_saved.precision.saved_inputs = Config::SavedInputs::bf16;
  Config codes_cached = config;
  codes_cached.precision.weight_codes = Config::WeightCodes::cached;
  Config codes_per_use = config;
  codes_per_use.precision.weight_codes = Config::WeightCodes::per_use;
  const Engine cached = plan_without_workspace(codes_cached, run);
  const Engine per_use = plan_without_workspace(codes_per_use, run);
  const auto waiting = [&](const Config& of) {
    return saved_for_backward(plan_without_workspace(of, run).plan()).bytes;
  };
  const std::size_t as_bf16 = waiting(bf16_saved);
  return {as_bf16 - std::min(as_bf16, waiting(codes_saved)), weigh_recompute(config, run), saving(cached, per_use),
          added_work(cached, per_use).bytes};
}

}  // namespace octet
