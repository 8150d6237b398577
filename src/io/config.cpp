// What must hold between the values of a configuration.
#include "io/config.h"

#include <fmt/format.h>

#include "core/error.h"

namespace octet {
namespace {

template <typename Number>
std::string setting(const Origins& origins, std::string_view key, Number value) {
  const auto origin = origins.find(key);
  return fmt::format("{} = {} ({})", key, value, origin == origins.end() ? "default" : origin->second);
}

void check_divides(const Origins& origins, std::string_view part_key, std::int64_t part, std::string_view whole_key,
                   std::int64_t whole) {
  if (part > 0 && whole % part == 0) return;
  throw UserError("{} does not divide {}; change one of them", setting(origins, part_key, part),
                  setting(origins, whole_key, whole));
}

/// Where a checkpoint's validation loss decides whether it stays, each must have one.
void check_retention(const Config& config, const Origins& origins) {
  const Config::Checkpoint& checkpoint = config.checkpoint;
  if (checkpoint.keep_best == 0) return;
  const std::string best = setting(origins, "checkpoint.keep_best", checkpoint.keep_best);
  if (config.validation.interval == 0) {
    throw UserError("{} needs validation losses, but {}; validate at the steps that are saved", best,
                    setting(origins, "validation.interval", config.validation.interval));
  }
  if (checkpoint.interval % config.validation.interval != 0) {
    throw UserError("{} needs a validation loss of every checkpoint, but {} is no multiple of {}; change one of them",
                    best, setting(origins, "checkpoint.interval", checkpoint.interval),
                    setting(origins, "validation.interval", config.validation.interval));
  }
}

/// Families whose query heads share key and value heads.
void check_grouped_queries(const Config::Model& model, const Origins& origins) {
  const bool derived = model.own_head_dim == 0;
  if (derived) check_divides(origins, "model.n_heads", model.n_heads, "model.dim", model.dim);
  check_divides(origins, "model.n_kv_heads", model.n_kv_heads, "model.n_heads", model.n_heads);
  if (!derived && model.own_head_dim % 2 != 0) {
    throw UserError("{} is odd, but rotary embeddings turn pairs; make it even",
                    setting(origins, "model.head_dim", model.own_head_dim));
  }
  if (model.head_dim() % 2 != 0) {
    throw UserError("{} and {} make heads of {}, but rotary embeddings turn pairs; make dim / n_heads even",
                    setting(origins, "model.dim", model.dim), setting(origins, "model.n_heads", model.n_heads),
                    model.head_dim());
  }
}

void check_llama_rope(const Config::Model& model, const Origins& origins) {
  const Config::RopeScaling& rope = model.rope_scaling;
  if (rope.enabled() && rope.low_freq_factor >= rope.high_freq_factor) {
    throw UserError("{} is not below {}; between them lies the band that is scaled in part",
                    setting(origins, "model.rope_scaling.low_freq_factor", rope.low_freq_factor),
                    setting(origins, "model.rope_scaling.high_freq_factor", rope.high_freq_factor));
  }
}

/// What a token can choose: top_k of the experts, and of those of the groups that are kept.
void check_experts(const Config::Moe& moe, const Origins& origins) {
  if (moe.top_k > moe.experts) {
    throw UserError("{} exceeds {}; choose fewer or have more", setting(origins, "model.moe.top_k", moe.top_k),
                    setting(origins, "model.moe.experts", moe.experts));
  }
  check_divides(origins, "model.moe.groups", moe.groups, "model.moe.experts", moe.experts);
  if (moe.kept_groups > moe.groups) {
    throw UserError("{} exceeds {}; keep fewer groups or have more",
                    setting(origins, "model.moe.kept_groups", moe.kept_groups),
                    setting(origins, "model.moe.groups", moe.groups));
  }
  const std::int64_t kept = moe.kept_groups * (moe.experts / moe.groups);
  if (moe.top_k > kept) {
    throw UserError("{} exceeds the {} experts of {} groups that are kept ({}); choose fewer or keep more groups",
                    setting(origins, "model.moe.top_k", moe.top_k), kept, moe.kept_groups,
                    setting(origins, "model.moe.kept_groups", moe.kept_groups));
  }
}

void check_mixture(const Config::Model& model, const Origins& origins) {
  if (model.moe.dense_layers > model.n_layers) {
    throw UserError("{} exceeds {}; make fewer layers dense or have more",
                    setting(origins, "model.moe.dense_layers", model.moe.dense_layers),
                    setting(origins, "model.n_layers", model.n_layers));
  }
  check_experts(model.moe, origins);
}

void check_latent_attention(const Config::Model& model, const Origins& origins) {
  if (model.mla.rope_head_dim % 2 != 0) {
    throw UserError("{} is odd, but rotary embeddings turn pairs; make it even",
                    setting(origins, "model.mla.rope_head_dim", model.mla.rope_head_dim));
  }
  const Config::RopeScaling& rope = model.rope_scaling;
  if (rope.enabled() && rope.beta_slow >= rope.beta_fast) {
    throw UserError("{} is not below {}; between them lies the band that is scaled in part",
                    setting(origins, "model.rope_scaling.beta_slow", rope.beta_slow),
                    setting(origins, "model.rope_scaling.beta_fast", rope.beta_fast));
  }
}

}  // namespace

void check_config(const Config& config, const Origins& origins) {
  const Config::Model& model = config.model;
  model.has_latent_attention() ? check_latent_attention(model, origins) : check_grouped_queries(model, origins);
  if (model.has_experts()) check_mixture(model, origins);
  if (model.family == Config::Family::llama3) check_llama_rope(model, origins);
  if (config.optimizer.gradients == Config::StateDType::bf16 && config.training.accumulate > 1) {
    throw UserError(
        "{} and {} do not go together: gradients summed over micro-batches must be fp32; set optimizer.gradients = "
        "\"fp32\", or training.accumulate = 1 with a larger training.batch_size",
        setting(origins, "optimizer.gradients", fmt::format("\"{}\"", config_name(config.optimizer.gradients))),
        setting(origins, "training.accumulate", config.training.accumulate));
  }
  if (config.schedule.warmup_steps > config.training.steps) {
    throw UserError("{} exceeds {}; warm up for fewer steps or train for more",
                    setting(origins, "schedule.warmup_steps", config.schedule.warmup_steps),
                    setting(origins, "training.steps", config.training.steps));
  }
  if (config.precision.shadow != Config::Shadow::none && config.precision.shadow_interval > config.training.steps) {
    throw UserError("{} exceeds {}, so that no step is watched; watch more often or train for more",
                    setting(origins, "precision.shadow_interval", config.precision.shadow_interval),
                    setting(origins, "training.steps", config.training.steps));
  }
  if (config.validation.interval > 0 && config.data.validation.empty()) {
    throw UserError("{} asks for validation, but data.validation is empty; name a file there or set the interval to 0",
                    setting(origins, "validation.interval", config.validation.interval));
  }
  check_retention(config, origins);
}

}  // namespace octet
