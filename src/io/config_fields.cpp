// The table of configuration keys.
#include "io/config_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "io/text.h"

namespace octet {
namespace {

enum class Need { optional, required };

constexpr ConfigRange between(double min, double max) {
  return {.min = min, .max = max};
}
constexpr ConfigRange at_least(double min) {
  return {.min = min};
}
constexpr ConfigRange above(double min) {
  return {.min = min, .min_excluded = true};
}
constexpr ConfigRange below_one{.min = 0, .max = 1, .max_excluded = true};
constexpr ConfigRange share = between(0, 1);
constexpr ConfigRange any{};

// Bounded so that the count of parameters, and of tokens in a step, stays far below 2^63.
constexpr double max_width = 1 << 20;
constexpr double max_vocab = 1 << 24;
constexpr double max_layers = 1 << 10;
constexpr double max_experts = 1 << 14;
constexpr double max_steps = 1e9;
constexpr double max_seq_len = 1 << 24;
constexpr double max_batch = 1 << 16;
constexpr double max_threads = 1 << 12;

template <auto... Path>
using Member = std::remove_cvref_t<decltype((std::declval<const Config&>().*....*Path))>;

template <auto... Path>
ConfigValue get(const Config& config) {
  using T = Member<Path...>;
  const T& member = (config.*....*Path);
  if constexpr (std::is_enum_v<T>) {
    return std::string(config_name(member));
  } else {
    return ConfigValue(std::in_place_type<T>, member);
  }
}

template <auto... Path>
void set(Config& config, const ConfigValue& value) {
  using T = Member<Path...>;
  T& member = (config.*....*Path);
  if constexpr (std::is_enum_v<T>) {
    const auto names = config_choices(T{});
    member = static_cast<T>(std::find(names.begin(), names.end(), std::get<std::string>(value)) - names.begin());
  } else {
    member = std::get<T>(value);
  }
}

/// The row of the member that `Path` leads to: field<&Config::model, &Config::Model::dim>("model.dim", ...).
template <auto... Path>
ConfigField field(std::string_view key, Need need, ConfigRange range, std::string_view help) {
  using T = Member<Path...>;
  std::vector<std::string_view> choices;
  if constexpr (std::is_enum_v<T>) {
    const auto names = config_choices(T{});
    choices.assign(names.begin(), names.end());
  }
  return {key, need == Need::required, range, std::move(choices), help, {}, &get<Path...>, &set<Path...>};
}

/// A key that models of some families have.
ConfigField only(std::span<const Config::Family> families, ConfigField field) {
  field.families = families;
  return field;
}

using C = Config;

// Families by what they are made of.
constexpr std::array grouped_queries{C::Family::llama3, C::Family::qwen3, C::Family::qwen3_moe};
constexpr std::array dense{C::Family::llama3, C::Family::qwen3};
constexpr std::array of_experts{C::Family::deepseek_v3, C::Family::qwen3_moe};
constexpr std::array scaled_rope{C::Family::llama3, C::Family::deepseek_v3};
constexpr std::array llama{C::Family::llama3};
constexpr std::array deepseek{C::Family::deepseek_v3};

std::vector<ConfigField> model_fields() {
  using enum Need;
  constexpr auto model = &C::model;
  constexpr auto rope = &C::Model::rope_scaling;
  return {
      field<model, &C::Model::family>("model.family", optional, any, "architecture"),
      field<model, &C::Model::vocab_size>("model.vocab_size", optional, between(2, max_vocab),
                                          "number of token ids; 256 is plain bytes"),
      field<model, &C::Model::dim>("model.dim", required, between(2, max_width), "width of the residual stream"),
      field<model, &C::Model::n_layers>("model.n_layers", required, between(1, max_layers), "transformer blocks"),
      field<model, &C::Model::n_heads>("model.n_heads", required, between(1, max_width), "query heads"),
      only(grouped_queries, field<model, &C::Model::n_kv_heads>("model.n_kv_heads", required, between(1, max_width),
                                                                "key and value heads; divides n_heads")),
      only(grouped_queries, field<model, &C::Model::own_head_dim>(
                                "model.head_dim", optional, between(0, max_width),
                                "elements of a head, an even number; 0 is dim / n_heads, which must then be one")),
      field<model, &C::Model::ffn_dim>("model.ffn_dim", required, between(1, max_width),
                                       "inner width of the feed-forward network (with experts: of dense layers)"),
      field<model, &C::Model::rope_theta>("model.rope_theta", optional, at_least(1), "base of the rotary embedding"),
      only(scaled_rope, field<model, rope, &C::RopeScaling::factor>(
                            "model.rope_scaling.factor", optional, at_least(1),
                            "how far low rotary frequencies are slowed down, as Llama 3.1 or, in "
                            "deepseek_v3, as YaRN does; 1 leaves them")),
      only(llama, field<model, rope, &C::RopeScaling::low_freq_factor>(
                      "model.rope_scaling.low_freq_factor", optional, above(0),
                      "wavelengths above original_max_seq_len / this are slowed in full")),
      only(llama, field<model, rope, &C::RopeScaling::high_freq_factor>(
                      "model.rope_scaling.high_freq_factor", optional, above(0),
                      "wavelengths below original_max_seq_len / this are left alone")),
      only(scaled_rope, field<model, rope, &C::RopeScaling::original_max_seq_len>(
                            "model.rope_scaling.original_max_seq_len", optional, between(1, max_seq_len),
                            "tokens of context before the scaling")),
      field<model, &C::Model::norm_eps>("model.norm_eps", optional, above(0), "added to the mean square in RMSNorm"),
      only(dense, field<model, &C::Model::tied_embeddings>("model.tied_embeddings", optional, any,
                                                           "the head uses the embedding's weights")),
      field<model, &C::Model::init_std>("model.init_std", optional, above(0),
                                        "standard deviation of the initial weights"),
  };
}

/// Of DeepSeek-V3 alone.
std::vector<ConfigField> latent_fields() {
  using enum Need;
  constexpr auto model = &C::model;
  constexpr auto rope = &C::Model::rope_scaling;
  constexpr auto mla = &C::Model::mla;
  std::vector<ConfigField> fields{
      field<model, rope, &C::RopeScaling::beta_fast>(
          "model.rope_scaling.beta_fast", optional, above(0),
          "frequencies that turn more often within original_max_seq_len are left alone"),
      field<model, rope, &C::RopeScaling::beta_slow>(
          "model.rope_scaling.beta_slow", optional, above(0),
          "frequencies that turn less often within original_max_seq_len are slowed in full"),
      field<model, rope, &C::RopeScaling::mscale>(
          "model.rope_scaling.mscale", optional, at_least(0),
          "rotated parts grow by (0.1 mscale ln(factor) + 1) / (0.1 mscale_all_dim ln(factor) + 1)"),
      field<model, rope, &C::RopeScaling::mscale_all_dim>(
          "model.rope_scaling.mscale_all_dim", optional, at_least(0),
          "attention's scale grows by the square of 0.1 mscale_all_dim ln(factor) + 1"),
      field<model, mla, &C::Mla::q_lora_rank>("model.mla.q_lora_rank", optional, between(0, max_width),
                                              "width of the latent that queries are made of; 0 makes them directly"),
      field<model, mla, &C::Mla::kv_lora_rank>("model.mla.kv_lora_rank", required, between(1, max_width),
                                               "width of the latent that keys and values are made of"),
      field<model, mla, &C::Mla::nope_head_dim>("model.mla.nope_head_dim", required, between(1, max_width),
                                                "of a head of queries and keys, what is not rotated"),
      field<model, mla, &C::Mla::rope_head_dim>("model.mla.rope_head_dim", required, between(2, max_width),
                                                "of a head of queries and keys, what is rotated, in even pairs; all "
                                                "heads share that of the key"),
      field<model, mla, &C::Mla::value_head_dim>("model.mla.value_head_dim", required, between(1, max_width),
                                                 "of a head of values"),
  };
  for (ConfigField& each : fields) each.families = deepseek;
  return fields;
}

std::vector<ConfigField> expert_fields() {
  using enum Need;
  constexpr auto model = &C::model;
  constexpr auto moe = &C::Model::moe;
  constexpr auto mtp = &C::Model::mtp;
  std::vector<ConfigField> fields{
      field<model, moe, &C::Moe::dense_layers>("model.moe.dense_layers", optional, between(0, max_layers),
                                               "the first layers, whose feed-forward network is dense"),
      field<model, moe, &C::Moe::ffn_dim>("model.moe.ffn_dim", required, between(1, max_width),
                                          "inner width of an expert"),
      field<model, moe, &C::Moe::experts>("model.moe.experts", required, between(1, max_experts), "routed experts"),
      only(deepseek, field<model, moe, &C::Moe::shared_experts>(
                         "model.moe.shared_experts", optional, between(0, max_experts),
                         "experts that every token takes, as one of so many times the width")),
      field<model, moe, &C::Moe::top_k>("model.moe.top_k", required, between(1, max_experts),
                                        "routed experts of a token"),
      only(deepseek, field<model, moe, &C::Moe::groups>("model.moe.groups", optional, between(1, max_experts),
                                                        "groups of experts; divides experts")),
      only(deepseek, field<model, moe, &C::Moe::kept_groups>(
                         "model.moe.kept_groups", optional, between(1, max_experts),
                         "groups that a token may choose from: those whose two best experts sum highest")),
      only(deepseek,
           field<model, moe, &C::Moe::score>("model.moe.score", optional, any,
                                             "what makes scores of the router's logits; in qwen3_moe softmax does")),
      field<model, moe, &C::Moe::normalised>("model.moe.normalised", optional, any,
                                             "divides the scores of the chosen experts by their sum"),
      only(deepseek, field<model, moe, &C::Moe::route_scale>("model.moe.route_scale", optional, above(0),
                                                             "then multiplies them")),
      only(deepseek,
           field<model, moe, &C::Moe::bias_rate>(
               "model.moe.bias_rate", optional, at_least(0),
               "step of the bias that a busy expert loses and an idle one gains in being chosen; 0 has no bias")),
      field<model, moe, &C::Moe::balance_weight>("model.moe.balance_weight", optional, at_least(0),
                                                 "weight of the sequence-wise balance loss; 0 has none"),
      only(deepseek, field<model, mtp, &C::Mtp::depth>("model.mtp.depth", optional, between(0, 8),
                                                       "further tokens that are predicted, each by a block of its "
                                                       "own")),
      only(deepseek, field<model, mtp, &C::Mtp::weight>("model.mtp.weight", optional, at_least(0),
                                                        "of the mean of their losses beside the main one, which "
                                                        "alone is reported as the loss")),
  };
  for (ConfigField& each : fields) {
    if (each.families.empty()) each.families = of_experts;
  }
  return fields;
}

std::vector<ConfigField> training_fields() {
  using enum Need;
  constexpr auto training = &C::training;
  constexpr auto optimizer = &C::optimizer;
  constexpr auto schedule = &C::schedule;
  return {
      field<training, &C::Training::steps>("training.steps", required, between(1, max_steps), "optimizer steps"),
      field<training, &C::Training::seq_len>("training.seq_len", required, between(1, max_seq_len),
                                             "tokens per sequence"),
      field<training, &C::Training::batch_size>("training.batch_size", required, between(1, max_batch),
                                                "sequences per micro-batch"),
      field<training, &C::Training::accumulate>("training.accumulate", optional, between(1, max_batch),
                                                "micro-batches per step"),
      field<training, &C::Training::recompute>(
          "training.recompute", optional, any,
          "what backward makes again instead of keeping it: nothing, the ops of "
          "recompute_ops, or all of a block but its input; losses keep their bits"),
      field<training, &C::Training::recompute_ops>("training.recompute_ops", optional, any,
                                                   "ops of a selective recompute: norm, qkv, attention, gate_up, "
                                                   "swiglu"),
      field<training, &C::Training::seed>("training.seed", optional, at_least(0),
                                          "of the initial weights, up to 2^63 - 1"),
      field<training, &C::Training::on_nan>("training.on_nan", optional, any,
                                            "on a loss or gradient that is not finite: end the run, or leave out the "
                                            "step and count it"),
      field<training, &C::Training::deterministic>("training.deterministic", optional, any,
                                                   "the same bits on every run and after resume; on a GPU this takes "
                                                   "slower attention, on a CPU it costs nothing"),
      field<training, &C::Training::max_minutes>("training.max_minutes", optional, at_least(0),
                                                 "stop with a checkpoint after this time; 0 is no limit"),
      field<optimizer, &C::Optimizer::name>("optimizer.name", optional, any, "update rule"),
      field<optimizer, &C::Optimizer::parameters>(
          "optimizer.parameters", optional, any,
          "fp32 masters beside the bf16 weights, or bf16 weights alone, rounded "
          "stochastically"),
      field<optimizer, &C::Optimizer::moments>("optimizer.moments", optional, any,
                                               "both moments in fp32, or in bf16, rounded stochastically"),
      field<optimizer, &C::Optimizer::gradients>(
          "optimizer.gradients", optional, any,
          "weight gradients in fp32, or in bf16 where one op writes them: of the embedding, of matrices in blocks, and "
          "of a head whose logits are one chunk; with accumulate above 1 they are sums and must be fp32"),
      field<optimizer, &C::Optimizer::lr>("optimizer.lr", required, above(0), "peak learning rate"),
      field<optimizer, &C::Optimizer::beta1>("optimizer.beta1", optional, below_one, "decay of the first moment"),
      field<optimizer, &C::Optimizer::beta2>("optimizer.beta2", optional, below_one, "decay of the second moment"),
      field<optimizer, &C::Optimizer::eps>("optimizer.eps", optional, at_least(1e-30),
                                           "added to the root of the second moment"),
      field<optimizer, &C::Optimizer::weight_decay>("optimizer.weight_decay", optional, at_least(0),
                                                    "decoupled weight decay"),
      field<optimizer, &C::Optimizer::groups>("optimizer.groups", optional, any,
                                              "what differs for some parameters, as \"GLOB: weight_decay=0, "
                                              "lr_scale=0.5\"; the first that matches a name decides"),
      field<optimizer, &C::Optimizer::clip_norm>("optimizer.clip_norm", optional, at_least(0),
                                                 "largest norm of the whole gradient; 0 does not clip"),
      field<schedule, &C::Schedule::warmup_steps>("schedule.warmup_steps", optional, between(0, max_steps),
                                                  "steps of linear warm-up"),
      field<schedule, &C::Schedule::decay>("schedule.decay", optional, any, "shape of the decay to the lowest rate"),
      field<schedule, &C::Schedule::decay_fraction>("schedule.decay_fraction", optional, share,
                                                    "share of the steps after warm-up that decay; they come last"),
      field<schedule, &C::Schedule::min_lr_ratio>("schedule.min_lr_ratio", optional, share,
                                                  "lowest rate as a share of the peak"),
  };
}

std::vector<ConfigField> precision_fields() {
  using enum Need;
  constexpr auto precision = &C::precision;
  return {
      field<precision, &C::Precision::recipe>("precision.recipe", optional, any,
                                              "precision of the linear layers; rowwise_with_gw_hp is another name of "
                                              "rowwise_hp_wgrad, which keeps wgrad in bf16"),
      field<precision, &C::Precision::fp8_format>("precision.fp8_format", optional, any,
                                                  "FP8 encoding; auto takes the device's"),
      field<precision, &C::Precision::skip>("precision.skip", optional, any,
                                            "globs of layer names that stay in bf16, as \"layers.0.*\""),
      field<precision, &C::Precision::min_size>(
          "precision.min_size", optional, between(-1, max_vocab),
          "smallest dimension of a layer that becomes FP8; 0 takes every shape that FP8 allows, -1 the "
          "recipe's own rule, which routed experts are no part of: they become "
          "FP8 at any size"),
      field<precision, &C::Precision::weight_codes>("precision.weight_codes", optional, any,
                                                    "keep FP8 copies of the weights through a step, or cast at each "
                                                    "use and save their memory"),
      field<precision, &C::Precision::saved_inputs>("precision.saved_inputs", optional, any,
                                                    "what a layer keeps of its input for its weight gradient: the FP8 "
                                                    "codes which that reads, or the bf16 values they are made of; same "
                                                    "losses"),
      field<precision, &C::Precision::head>("precision.head", optional, any,
                                            "output head: in bf16, or in FP8 by the rules of the other layers"),
      field<precision, &C::Precision::accumulation_forward>(
          "precision.accumulation_forward", optional, any,
          "sums of FP8 products in forward: as the recipe says, fast (in fewer bits where the device can) or full "
          "(fp32); the CPU sums in fp32 whatever is said"),
      field<precision, &C::Precision::accumulation_dgrad>("precision.accumulation_dgrad", optional, any,
                                                          "the same for gradients of inputs"),
      field<precision, &C::Precision::accumulation_wgrad>(
          "precision.accumulation_wgrad", optional, any,
          "the same for gradients of weights; fast is refused where the recipe keeps them in bf16"),
      only(of_experts, field<precision, &C::Precision::experts_forward>(
                           "precision.experts_forward", optional, any,
                           "the forward products of routed experts: as the recipe says, or in bf16")),
      only(of_experts, field<precision, &C::Precision::experts_dgrad>("precision.experts_dgrad", optional, any,
                                                                      "the same for gradients of their inputs")),
      only(of_experts, field<precision, &C::Precision::experts_wgrad>("precision.experts_wgrad", optional, any,
                                                                      "the same for gradients of their weights")),
      field<precision, &C::Precision::fp8_max>(
          "precision.fp8_max", optional, at_least(0),
          "largest FP8 value the user expects, 0 = whatever the format has; another one than the format's is refused"),
      field<precision, &C::Precision::shadow>(
          "precision.shadow", optional, any,
          "the numerics watch: some steps are also computed in bf16, and watch.jsonl says how far each layer's results "
          "in FP8 are from that; losses keep their bits"),
      field<precision, &C::Precision::shadow_interval>("precision.shadow_interval", optional, between(1, max_steps),
                                                       "steps between watched ones"),
  };
}

std::vector<ConfigField> run_fields() {
  using enum Need;
  constexpr auto data = &C::data;
  constexpr auto validation = &C::validation;
  constexpr auto checkpoint = &C::checkpoint;
  constexpr auto logging = &C::logging;
  return {
      field<data, &C::Data::train>("data.train", required, any,
                                   "token shards, manifests, folders or patterns, relative to the working directory"),
      field<data, &C::Data::mix>("data.mix", optional, any,
                                 "shares of training sequences, each \"GLOB: WEIGHT\" on the names in data.train; the "
                                 "files that the first match gives a rule are one source, with an order and epochs of "
                                 "its own; empty mixes nothing"),
      field<data, &C::Data::validation>("data.validation", optional, any, "the same for validation"),
      field<data, &C::Data::boundaries>("data.boundaries", optional, any,
                                        "between the documents of a sequence: ignored, tokens attend to all before "
                                        "them; attention, to those of their "
                                        "own document alone"),
      field<data, &C::Data::tokenizer>("data.tokenizer", optional, any,
                                       "the tokenizer that the shards must be of; empty: whatever they say"),
      field<data, &C::Data::shuffle>("data.shuffle", optional, any,
                                     "visit training sequences in a seeded random order"),
      field<data, &C::Data::seed>("data.seed", optional, at_least(0), "of the order of the data, up to 2^63 - 1"),
      field<validation, &C::Validation::interval>("validation.interval", optional, between(0, max_steps),
                                                  "steps between validations; 0 is never"),
      field<validation, &C::Validation::batches>("validation.batches", optional, between(1, max_steps),
                                                 "micro-batches per validation"),
      field<checkpoint, &C::Checkpoint::interval>("checkpoint.interval", optional, between(0, max_steps),
                                                  "steps between checkpoints; 0 is only at the end"),
      field<checkpoint, &C::Checkpoint::asynchronous>(
          "checkpoint.asynchronous", optional, any,
          "write checkpoints while training goes on, from a copy in host memory as large as a checkpoint; the bytes "
          "written are the same"),
      field<checkpoint, &C::Checkpoint::keep>("checkpoint.keep", optional, between(1, max_steps),
                                              "latest checkpoints kept on disk"),
      field<checkpoint, &C::Checkpoint::keep_every>("checkpoint.keep_every", optional, between(0, max_steps),
                                                    "checkpoints of steps that are multiples of this stay for ever; 0 "
                                                    "is none"),
      field<checkpoint, &C::Checkpoint::keep_best>("checkpoint.keep_best", optional, between(0, max_steps),
                                                   "checkpoints with the lowest validation losses kept besides; 0 is "
                                                   "none"),
      field<logging, &C::Logging::interval>("logging.interval", optional, between(1, max_steps),
                                            "steps between lines of the log"),
      field<logging, &C::Logging::tensorboard>("logging.tensorboard", optional, any,
                                               "also write what TensorBoard shows, to RUN/tensorboard"),
      field<logging, &C::Logging::histogram_interval>("logging.histogram_interval", optional, between(0, max_steps),
                                                      "steps between histograms of the FP8 scales in TensorBoard; 0 is "
                                                      "never"),
      field<&C::runtime, &C::Runtime::device>(
          "runtime.device", optional, any, "where the run computes: cpu, cuda or hip (the first GPU), cuda:N or hip:N"),
      field<&C::runtime, &C::Runtime::threads>("runtime.threads", optional, between(0, max_threads),
                                               "CPU threads; 0 takes every core"),
      field<&C::runtime, &C::Runtime::graphs>(
          "runtime.graphs", optional, any,
          "auto: a GPU captures the work of a step once and then starts it with a call for each part, same losses; "
          "off: op by op"),
      field<&C::runtime, &C::Runtime::synchronous>(
          "runtime.synchronous", optional, any,
          "wait for a GPU after each op, so that a fault of it is found in its op; slow, and without effect on a CPU"),
  };
}

std::vector<ConfigField> all_fields() {
  std::vector<ConfigField> all;
  for (auto part : {model_fields, latent_fields, expert_fields, training_fields, precision_fields, run_fields}) {
    for (ConfigField& field : part()) all.push_back(std::move(field));
  }
  return all;
}

}  // namespace

bool ConfigRange::contains(double x) const {
  return (min_excluded ? x > min : x >= min) && (max_excluded ? x < max : x <= max);
}

std::string ConfigRange::text() const {
  const bool has_min = std::isfinite(min);
  const bool has_max = std::isfinite(max);
  if (has_min && has_max && !min_excluded && !max_excluded) return fmt::format("{} to {}", min, max);
  std::string text;
  if (has_min) text += fmt::format("{} {}", min_excluded ? "above" : "at least", min);
  if (has_max) text += fmt::format("{}{} {}", has_min ? " and " : "", max_excluded ? "below" : "at most", max);
  return text;
}

std::span<const ConfigSection> config_sections() {
  static constexpr ConfigSection sections[] = {
      {"model", "The network."},
      {"training", "Length, batch and rules of the run. A step trains on batch_size x accumulate sequences."},
      {"optimizer", "How gradients change weights."},
      {"schedule", "The learning rate over the run: linear warm-up, the peak, then the decay."},
      {"precision", "Which linear layers compute in FP8, and how."},
      {"data", "What is trained on."},
      {"validation", "Loss on unseen data."},
      {"checkpoint", "Saving the run."},
      {"logging", "What the run says."},
      {"runtime", "The machine."},
  };
  return sections;
}

std::span<const ConfigField> config_fields() {
  static const std::vector<ConfigField> fields = all_fields();
  return fields;
}

const ConfigField* find_config_field(std::string_view key) {
  const auto fields = config_fields();
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const ConfigField& f) { return f.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

std::string family_names(const ConfigField& field) {
  std::string names;
  for (const Config::Family& family : field.families) {
    if (!names.empty()) names += &family == &field.families.back() ? " or " : ", ";
    names += fmt::format("\"{}\"", config_name(family));
  }
  return names;
}

std::string_view config_type(const ConfigField& field) {
  static constexpr std::string_view names[] = {"true or false", "an integer", "a number", "a string",
                                               "a string or a list of strings"};
  static_assert(std::size(names) == std::variant_size_v<ConfigValue>);
  return names[field.get(Config{}).index()];
}

std::string_view canonical_choice(const ConfigField& field, std::string_view name) {
  if (field.key == "precision.recipe" && name == "rowwise_with_gw_hp") return "rowwise_hp_wgrad";
  return name;
}

std::optional<std::string> config_violation(const ConfigField& field, const ConfigValue& value) {
  if (const auto* name = std::get_if<std::string>(&value)) {
    if (field.choices.empty()) return std::nullopt;  // free text
    if (std::find(field.choices.begin(), field.choices.end(), *name) != field.choices.end()) return std::nullopt;
    return fmt::format("must be {}, is \"{}\"", fmt::join(field.choices, " or "), printable(*name));
  }
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    if (field.required && list->empty()) return "must name at least one, is empty";
    for (const std::string& entry : *list) {
      if (entry.empty()) return "has an empty string in it, remove it";
      if (entry.find('\0') != std::string::npos) return "has a NUL character in it, remove it";
    }
    return std::nullopt;
  }
  const auto* integer = std::get_if<std::int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  if (integer != nullptr && !field.range.contains(static_cast<double>(*integer))) {
    return fmt::format("must be {}, is {}", field.range.text(), *integer);
  }
  if (number != nullptr && !std::isfinite(*number)) return fmt::format("must be finite, is {}", *number);
  if (number != nullptr && !field.range.contains(*number)) {
    return fmt::format("must be {}, is {}", field.range.text(), *number);
  }
  return std::nullopt;
}

}  // namespace octet
