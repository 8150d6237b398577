// The configuration of a run: every key a TOML file may set, typed, with its default.
// The keys' ranges and help stand in config_fields.cpp; docs/configuration.md is printed from there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Sections are nested types, so that `Config::Model` never meets a class of the model itself.
/// Keys that a file must set start at 0 or empty.
struct Config {
  enum class Family { llama3, deepseek_v3, qwen3, qwen3_moe };
  enum class OnNan { stop, skip };
  enum class Recompute { none, selective, full };
  enum class OptimizerName { adamw };
  enum class StateDType { fp32, bf16 };
  enum class Decay { constant, linear, cosine, sqrt };
  enum class Recipe { bf16, tensorwise, rowwise, rowwise_hp_wgrad };
  enum class Fp8Format { automatic, ocp, fnuz };
  enum class WeightCodes { cached, per_use };
  enum class SavedInputs { codes, bf16 };
  enum class HeadPrecision { bf16, fp8 };
  enum class Accumulation { recipe, fast, full };
  enum class ExpertPrecision { recipe, bf16 };
  enum class RouterScore { sigmoid, softmax };
  enum class Shadow { none, bf16 };
  enum class Graphs { automatic, off };
  enum class Boundaries { ignored, attention };

  struct RopeScaling {
    double factor = 1.0;
    double low_freq_factor = 1.0;
    double high_freq_factor = 4.0;
    std::int64_t original_max_seq_len = 8192;
    double beta_fast = 32.0;
    double beta_slow = 1.0;
    double mscale = 1.0;
    double mscale_all_dim = 1.0;
    [[nodiscard]] bool enabled() const { return factor != 1.0; }
    bool operator==(const RopeScaling&) const = default;
  };

  /// Multi-head latent attention.
  struct Mla {
    std::int64_t q_lora_rank = 0;
    std::int64_t kv_lora_rank = 0;
    std::int64_t nope_head_dim = 0;
    std::int64_t rope_head_dim = 0;
    std::int64_t value_head_dim = 0;
    bool operator==(const Mla&) const = default;
  };

  /// Mixture of experts.
  struct Moe {
    std::int64_t dense_layers = 0;
    std::int64_t ffn_dim = 0;
    std::int64_t experts = 0;
    std::int64_t shared_experts = 0;
    std::int64_t top_k = 0;
    std::int64_t groups = 1;
    std::int64_t kept_groups = 1;
    RouterScore score = RouterScore::sigmoid;
    bool normalised = true;
    double route_scale = 1.0;
    double bias_rate = 1e-3;
    double balance_weight = 0.0;
    bool operator==(const Moe&) const = default;
  };

  /// Multi-token prediction.
  struct Mtp {
    std::int64_t depth = 0;
    double weight = 0.3;
    bool operator==(const Mtp&) const = default;
  };

  struct Model {
    Family family = Family::llama3;
    std::int64_t vocab_size = 256;
    std::int64_t dim = 0;
    std::int64_t n_layers = 0;
    std::int64_t n_heads = 0;
    std::int64_t n_kv_heads = 0;
    std::int64_t own_head_dim = 0;  ///< the key head_dim; 0: dim / n_heads
    std::int64_t ffn_dim = 0;
    double rope_theta = 500000.0;
    RopeScaling rope_scaling;
    double norm_eps = 1e-5;
    bool tied_embeddings = false;
    double init_std = 0.02;
    Mla mla;
    Moe moe;
    Mtp mtp;
    [[nodiscard]] bool has_latent_attention() const { return family == Family::deepseek_v3; }
    [[nodiscard]] bool has_experts() const { return family == Family::deepseek_v3 || family == Family::qwen3_moe; }
    [[nodiscard]] bool has_normed_heads() const { return family == Family::qwen3 || family == Family::qwen3_moe; }
    /// Of queries and keys.
    [[nodiscard]] std::int64_t head_dim() const {
      if (has_latent_attention()) return mla.nope_head_dim + mla.rope_head_dim;
      return own_head_dim > 0 ? own_head_dim : dim / n_heads;
    }
    [[nodiscard]] std::int64_t value_head_dim() const {
      return has_latent_attention() ? mla.value_head_dim : head_dim();
    }
    [[nodiscard]] std::int64_t kv_heads() const { return has_latent_attention() ? n_heads : n_kv_heads; }
    bool operator==(const Model&) const = default;
  };

  struct Training {
    std::int64_t steps = 0;
    std::int64_t seq_len = 0;
    std::int64_t batch_size = 0;
    std::int64_t accumulate = 1;
    Recompute recompute = Recompute::none;
    std::vector<std::string> recompute_ops{"norm", "swiglu"};
    std::int64_t seed = 1;
    OnNan on_nan = OnNan::stop;
    bool deterministic = true;
    double max_minutes = 0.0;
    bool operator==(const Training&) const = default;
  };

  struct Optimizer {
    OptimizerName name = OptimizerName::adamw;
    StateDType parameters = StateDType::fp32;
    StateDType moments = StateDType::fp32;
    StateDType gradients = StateDType::fp32;
    double lr = 0.0;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double eps = 1e-8;
    double weight_decay = 0.1;
    std::vector<std::string> groups{"*norm.weight: weight_decay=0"};
    double clip_norm = 1.0;
    bool operator==(const Optimizer&) const = default;
  };

  struct Schedule {
    std::int64_t warmup_steps = 0;
    Decay decay = Decay::cosine;
    double decay_fraction = 1.0;
    double min_lr_ratio = 0.1;
    bool operator==(const Schedule&) const = default;
  };

  struct Precision {
    Recipe recipe = Recipe::bf16;
    Fp8Format fp8_format = Fp8Format::automatic;
    std::vector<std::string> skip;
    std::int64_t min_size = -1;
    WeightCodes weight_codes = WeightCodes::cached;
    SavedInputs saved_inputs = SavedInputs::codes;
    HeadPrecision head = HeadPrecision::bf16;
    Accumulation accumulation_forward = Accumulation::recipe;
    Accumulation accumulation_dgrad = Accumulation::recipe;
    Accumulation accumulation_wgrad = Accumulation::recipe;
    ExpertPrecision experts_forward = ExpertPrecision::recipe;
    ExpertPrecision experts_dgrad = ExpertPrecision::recipe;
    ExpertPrecision experts_wgrad = ExpertPrecision::recipe;
    double fp8_max = 0.0;
    Shadow shadow = Shadow::none;
    std::int64_t shadow_interval = 100;
    bool operator==(const Precision&) const = default;
  };

  struct Data {
    std::vector<std::string> train;
    std::vector<std::string> mix;
    std::vector<std::string> validation;
    Boundaries boundaries = Boundaries::ignored;
    std::string tokenizer;
    bool shuffle = true;
    std::int64_t seed = 1;
    bool operator==(const Data&) const = default;
  };

  struct Validation {
    std::int64_t interval = 0;
    std::int64_t batches = 8;
    bool operator==(const Validation&) const = default;
  };

  struct Checkpoint {
    std::int64_t interval = 0;
    bool asynchronous = true;
    std::int64_t keep = 2;
    std::int64_t keep_every = 0;
    std::int64_t keep_best = 0;
    bool operator==(const Checkpoint&) const = default;
  };

  struct Logging {
    std::int64_t interval = 10;
    bool tensorboard = false;
    std::int64_t histogram_interval = 100;
    bool operator==(const Logging&) const = default;
  };

  struct Runtime {
    std::string device = "cpu";
    std::int64_t threads = 0;
    Graphs graphs = Graphs::automatic;
    bool synchronous = false;
    bool operator==(const Runtime&) const = default;
  };

  Model model;
  Training training;
  Optimizer optimizer;
  Schedule schedule;
  Precision precision;
  Data data;
  Validation validation;
  Checkpoint checkpoint;
  Logging logging;
  Runtime runtime;
  bool operator==(const Config&) const = default;
};

/// The TOML names of a choice, in the order of its enumerators.
constexpr auto config_choices(Config::Family) {
  return std::array<std::string_view, 4>{"llama3", "deepseek_v3", "qwen3", "qwen3_moe"};
}
constexpr auto config_choices(Config::OnNan) {
  return std::array<std::string_view, 2>{"stop", "skip"};
}
constexpr auto config_choices(Config::Recompute) {
  return std::array<std::string_view, 3>{"none", "selective", "full"};
}
constexpr auto config_choices(Config::StateDType) {
  return std::array<std::string_view, 2>{"fp32", "bf16"};
}
constexpr auto config_choices(Config::OptimizerName) {
  return std::array<std::string_view, 1>{"adamw"};
}
constexpr auto config_choices(Config::Decay) {
  return std::array<std::string_view, 4>{"constant", "linear", "cosine", "sqrt"};
}
constexpr auto config_choices(Config::Recipe) {
  return std::array<std::string_view, 4>{"bf16", "tensorwise", "rowwise", "rowwise_hp_wgrad"};
}
constexpr auto config_choices(Config::Fp8Format) {
  return std::array<std::string_view, 3>{"auto", "ocp", "fnuz"};
}
constexpr auto config_choices(Config::WeightCodes) {
  return std::array<std::string_view, 2>{"cached", "per_use"};
}
constexpr auto config_choices(Config::SavedInputs) {
  return std::array<std::string_view, 2>{"codes", "bf16"};
}
constexpr auto config_choices(Config::HeadPrecision) {
  return std::array<std::string_view, 2>{"bf16", "fp8"};
}
constexpr auto config_choices(Config::Accumulation) {
  return std::array<std::string_view, 3>{"recipe", "fast", "full"};
}
constexpr auto config_choices(Config::ExpertPrecision) {
  return std::array<std::string_view, 2>{"recipe", "bf16"};
}
constexpr auto config_choices(Config::RouterScore) {
  return std::array<std::string_view, 2>{"sigmoid", "softmax"};
}
constexpr auto config_choices(Config::Shadow) {
  return std::array<std::string_view, 2>{"none", "bf16"};
}
constexpr auto config_choices(Config::Graphs) {
  return std::array<std::string_view, 2>{"auto", "off"};
}
constexpr auto config_choices(Config::Boundaries) {
  return std::array<std::string_view, 2>{"ignored", "attention"};
}

/// The TOML name of a choice: config_name(Config::Decay::sqrt) is "sqrt".
template <typename Choice>
[[nodiscard]] constexpr std::string_view config_name(Choice choice) {
  return config_choices(choice)[static_cast<std::size_t>(choice)];
}

/// Where each key's value comes from: "configs/a.toml:12", "--set" or "default".
using Origins = std::map<std::string, std::string, std::less<>>;

struct LoadedConfig {
  Config config;
  Origins origins;  // every key that the family of the model has
};

/// Reads a TOML file, the files it extends (at most 8 deep) and then the overrides, each "section.key=value".
/// UserError (one line: file, line, column, key, remedy) for broken TOML, an unknown key, a wrong type, a value out of
/// range, a missing key, and values that contradict each other.
[[nodiscard]] LoadedConfig load_config(const std::filesystem::path& path, std::span<const std::string> overrides = {});

/// The same for a text that stands for the file at `path`; only what it extends is read from disk.
[[nodiscard]] LoadedConfig parse_config(std::string_view text, const std::filesystem::path& path,
                                        std::span<const std::string> overrides = {});

/// UserError if two values contradict each other (heads that do not divide the width, a warm-up beyond the last step);
/// names both and their origins. Each value by itself is in its range.
void check_config(const Config& config, const Origins& origins);

}  // namespace octet
