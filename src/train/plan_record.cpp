#include "train/plan_record.h"

namespace octet {
namespace {

using nlohmann::ordered_json;

ordered_json describe_shape(const BatchShape& shape) {
  return {{"batch_size", shape.batch}, {"seq_len", shape.seq_len}};
}

ordered_json describe_remedy(const FittingPlan& plan) {
  ordered_json settings = ordered_json::object();
  for (const Remedy& remedy : plan.remedies) settings[std::string(remedy.key)] = remedy.value;
  ordered_json described = {{"settings", settings}, {"planned_bytes", plan.bytes}};
  described.update(describe_shape(plan.shape));
  return described;
}

}  // namespace

ordered_json describe_choices(const PlanChoices& choices) {
  ordered_json recompute = ordered_json::object();
  for (const RecomputeCost& cost : choices.recompute) {
    recompute[std::string(config_name(cost.recompute))] = {{"saved_bytes", cost.saved},
                                                           {"added_flops", cost.added.flops},
                                                           {"added_flops_share", cost.flops_share},
                                                           {"added_bytes_moved", cost.added.bytes}};
  }
  return {{"saved_inputs", {{"codes_saved_bytes", choices.codes_save}}},
          {"recompute", recompute},
          {"weight_codes",
           {{"per_use", {{"saved_bytes", choices.per_use_saves}, {"added_bytes_moved", choices.per_use_moves}}}}}};
}

ordered_json describe_capacity(const Capacity& capacity) {
  return {{"card", capacity.card.name},
          {"bytes", capacity.card.bytes},
          {"reserved_bytes", kCardReserve},
          {"planned_bytes", capacity.planned},
          {"fits", capacity.fits()},
          {"remedy", capacity.remedy ? describe_remedy(*capacity.remedy) : ordered_json()},
          {"largest", capacity.largest ? describe_shape(*capacity.largest) : ordered_json()}};
}

}  // namespace octet
