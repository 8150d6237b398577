#include "cli/memory_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "cli/plan_text.h"
#include "train/capacity.h"
#include "train/checkpoint_staging.h"

namespace octet::cli {
namespace {

std::string bytes_of(std::size_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

/// "selective (norm, swiglu)": the ops that a setting makes again, where it is the configuration that names them.
std::string recompute_name(const Config& config, Config::Recompute recompute) {
  if (recompute != Config::Recompute::selective) return std::string(config_name(recompute));
  return fmt::format("selective ({})", fmt::join(config.training.recompute_ops, ", "));
}

/// "bf16 where one op writes them (8.03 B elements), fp32 where they are sums in parts (266 K)".
std::string gradients_text(const Engine& engine) {
  const GradientElements elements = gradient_elements(engine.model().parameters());
  const bool kept = engine.storage().gradient_life == GradientLife::run;
  return fmt::format(
      "gradients   {} where one op writes them ({} elements), fp32 where they are sums in parts ({})\n"
      "            {}\n",
      engine.storage().gradients == DType::bf16 ? "bf16" : "fp32",
      count_text(static_cast<double>(elements.written_once)), count_text(static_cast<double>(elements.summed)),
      kept ? "kept through the run" : "each block's live from its backward to its update");
}

std::string saved_inputs_text(const Config& config, const PlanChoices& choices) {
  if (choices.codes_save == 0) return {};
  const bool codes = config.precision.saved_inputs == Config::SavedInputs::codes;
  return fmt::format("inputs      saved as {}, which wait in {} {} than as {}\n", codes ? "codes" : "bf16",
                     bytes_of(choices.codes_save), codes ? "less" : "more", codes ? "bf16" : "codes");
}

std::string recompute_text(const Config& config, const PlanChoices& choices) {
  const bool on = config.training.recompute != Config::Recompute::none;
  std::vector<std::string> parts;
  for (const RecomputeCost& cost : choices.recompute) {
    parts.push_back(fmt::format("{} {} {} and {} {} FLOPs ({:.2f} %) and {} of traffic to a step",
                                recompute_name(config, cost.recompute), on ? "saves" : "would save",
                                bytes_of(cost.saved), on ? "adds" : "add", count_text(cost.added.flops),
                                100 * cost.flops_share, bytes_text(cost.added.bytes)));
  }
  return fmt::format("recompute   {}{}\n", on ? "" : "none\n            ", fmt::join(parts, "\n            "));
}

std::string weight_codes_text(const Config& config, const PlanChoices& choices) {
  if (choices.per_use_saves == 0) return {};
  const bool cached = config.precision.weight_codes == Config::WeightCodes::cached;
  return fmt::format("weights     {} {} and {} {} of traffic to a step\n",
                     cached ? "codes cached; per_use would save" : "codes made per use, which saves",
                     bytes_of(choices.per_use_saves), cached ? "add" : "adds", bytes_text(choices.per_use_moves));
}

std::string group_text(const ParameterGroupSize& size) {
  std::string text =
      fmt::format("{} parameters ({} elements) ", size.parameters, count_text(static_cast<double>(size.elements)));
  text += size.group.weight_decay == 0 ? "do not decay" : fmt::format("decay {}", size.group.weight_decay);
  if (size.group.lr_scale != 1) text += fmt::format(" and learn {} times as fast", size.group.lr_scale);
  return text;
}

std::string shape_text(const BatchShape& shape) {
  return fmt::format("{} x {} tokens", shape.batch, shape.seq_len);
}

std::string remedy_text(const Config& config, const FittingPlan& plan) {
  std::vector<std::string> settings;
  for (const Remedy& remedy : plan.remedies) settings.push_back(fmt::format("{} = \"{}\"", remedy.key, remedy.value));
  if (plan.shape.batch != config.training.batch_size) {
    settings.push_back(fmt::format("training.batch_size = {}", plan.shape.batch));
  }
  if (plan.shape.seq_len != config.training.seq_len) {
    settings.push_back(fmt::format("training.seq_len = {}", plan.shape.seq_len));
  }
  return fmt::format("{} fit with {}", bytes_of(plan.bytes), fmt::join(settings, ", "));
}

std::string card_text(const Config& config, const Capacity& capacity) {
  std::string text = fmt::format("  {:<8}", capacity.card.name);
  if (capacity.fits()) {
    text += fmt::format("{} of {} fit", bytes_of(capacity.planned), bytes_of(capacity.usable));
  } else {
    text += fmt::format("{} do not fit into {}", bytes_of(capacity.planned), bytes_of(capacity.usable));
  }
  if (capacity.remedy) text += fmt::format(";\n          {}", remedy_text(config, *capacity.remedy));
  if (!capacity.fits() && !capacity.remedy) {
    const std::int64_t floor = std::min(config.training.seq_len, kFloorSeqLen);
    return text + fmt::format(", and no combination does at 1 x {} tokens: shard over more GPUs\n", floor);
  }
  return text + fmt::format("\n          with the options as they are, {}\n",
                            capacity.largest ? fmt::format("up to {} in a micro-batch", shape_text(*capacity.largest))
                                             : "no length fits");
}

}  // namespace

std::string memory_text(const Engine& engine, const Config& config) {
  const MemoryPlan& plan = engine.plan();
  std::string text = fmt::format("memory      {} planned in one arena\n", bytes_of(plan.arena_bytes));
  std::size_t held = 0;
  for (const auto& [memory_class, bytes] : plan.at_peak()) {
    held += bytes;
    text += fmt::format("  {:<14} {:>12}\n", name(memory_class), bytes_of(bytes));
  }
  text += fmt::format("  {:<14} {:>12}\n", "fragmentation", bytes_of(plan.arena_bytes - held));
  const SavedForBackward saved = saved_for_backward(plan);
  text += fmt::format("  {} of it wait for backward, {} as FP8 codes\n", bytes_of(saved.bytes), bytes_of(saved.codes));
  if (const std::size_t copy = checkpoint_staging_bytes(config, engine.model().parameters()); copy > 0) {
    text += fmt::format("checkpoints {} more of host memory for the copy that is written while training goes on\n",
                        bytes_of(copy));
  }
  return text + gradients_text(engine);
}

std::string choices_text(const Config& config, const PlanChoices& choices) {
  return saved_inputs_text(config, choices) + recompute_text(config, choices) + weight_codes_text(config, choices);
}

std::string optimizer_text(const Engine& engine, const Config& config) {
  const ParameterBytes bytes = parameter_bytes(engine.storage());
  std::vector<std::string> groups;
  for (const ParameterGroupSize& size : parameter_group_sizes(config, engine.model())) {
    groups.push_back(group_text(size));
  }
  const std::string gradient = bytes.keeps_gradients() ? fmt::format("gradient {}, ", bytes.gradient) : "";
  return gradients_text(engine) + fmt::format(
                                      "optimizer   {} bytes per parameter: weight {}, master {}, {}moments {}\n"
                                      "            {} group{}: {}\n",
                                      bytes.sum(), bytes.weight, bytes.master, gradient, bytes.moments, groups.size(),
                                      groups.size() == 1 ? "" : "s", fmt::join(groups, ", "));
}

std::string cards_text(const Config& config, bool keeps_gradients) {
  std::string text = fmt::format(
      "one GPU     without the workspace of ops; {} are left for it, context and libraries\n", bytes_of(kCardReserve));
  CapacityPlanner planner(config, keeps_gradients);
  for (const Card& card : kCards) text += card_text(config, planner.of(card));
  return text;
}

}  // namespace octet::cli
