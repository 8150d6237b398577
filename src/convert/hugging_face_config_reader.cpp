// config.json read as Octet's configuration.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "convert/hugging_face_config.h"
#include "convert/hugging_face_fields.h"
#include "core/error.h"
#include "io/config_fields.h"
#include "io/text.h"

namespace octet {
namespace {

using nlohmann::json;

constexpr std::string_view guess = "octet convert";  // the origin of what config.json does not say
constexpr std::int64_t fp8_block_size = 128;
constexpr std::int64_t max_prediction_layers = 1024;

json constant(Constant value) {
  switch (value) {
    case Constant::no:
      return false;
    case Constant::yes:
      return true;
    case Constant::zero:
      return 0;
    case Constant::one:
      return 1;
    case Constant::silu:
      return "silu";
    case Constant::sigmoid:
      return "sigmoid";
    case Constant::noaux_tc:
      return "noaux_tc";
  }
  check(false, "a constant is one of its enumerators");
  return {};
}

/// One object of the file. Fields that are null count as missing.
class Fields {
 public:
  Fields(const json& object, std::string file, std::string prefix = "")
      : object_(object), file_(std::move(file)), prefix_(std::move(prefix)) {}

  [[nodiscard]] bool states(std::string_view name) const { return object_.contains(name); }
  [[nodiscard]] const json* find(std::string_view name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const {
    const json* value = find(name);
    if (value == nullptr) return std::nullopt;
    const bool fits =
        value->is_number_integer() && (!value->is_number_unsigned() || value->get<std::uint64_t>() <= INT64_MAX);
    if (!fits) reject(name, "is not a whole number");
    return value->get<std::int64_t>();
  }
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    const json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) reject(name, "is not a number");
    return value->get<double>();
  }
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const {
    const json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) reject(name, "is not true or false");
    return value->get<bool>();
  }
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const {
    const json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) reject(name, "is not a string");
    return value->get<std::string>();
  }
  [[nodiscard]] std::optional<Fields> object(std::string_view name) const {
    const json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_object()) reject(name, "is not an object");
    return Fields(*value, file_, fmt::format("{}{}.", prefix_, name));
  }

  [[noreturn]] void reject(std::string_view name, std::string_view reason) const {
    const json* value = find(name);
    throw UserError("{}: {}{} {}{}", file_, prefix_, name, reason,
                    value == nullptr ? std::string() : fmt::format(", but {}", printable(dump(*value), 60)));
  }
  [[nodiscard]] static std::string dump(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  [[nodiscard]] std::string origin(std::string_view name) const {
    return fmt::format("{}: {}{}", file_, prefix_, name);
  }

 private:
  const json& object_;
  std::string file_, prefix_;
};

class Reader {
 public:
  Reader(const json& root, const std::filesystem::path& path)
      : file_(printable(path.string())), root_(root, file_), family_(find_family()), fields_(fields_of(family_)) {}

  [[nodiscard]] HuggingFaceConfig read() {
    check_constants();
    put("model.family", std::string(family_.octet), "architectures");
    for (const IntegerField& field : fields_.integers) read_integer(field);
    put("model.norm_eps", root_.number("rms_norm_eps").value_or(1e-6), "rms_norm_eps");
    put("model.init_std", root_.number("initializer_range").value_or(0.02), "initializer_range");
    read_tied();
    family_.latent_attention ? read_latent_heads() : read_grouped_heads();
    if (family_.experts) read_experts();
    read_rope();
    read_quantisation();
    suggest_training();
    finish();
    return std::move(result_);
  }

 private:
  [[nodiscard]] ConvertedFamily find_family() const {
    const json* architectures = root_.find("architectures");
    const json* model_type = root_.find("model_type");
    const bool listed = architectures != nullptr && architectures->is_array() && architectures->size() == 1;
    for (const ConvertedFamily& family : converted_families) {
      if (listed ? architectures->front() == json(family.architecture)
                 : architectures == nullptr && model_type != nullptr && *model_type == json(family.model_type)) {
        return family;
      }
    }
    const json* named = architectures != nullptr ? architectures : model_type;
    throw UserError(
        "{}: {} is no architecture that Octet has: LlamaForCausalLM, Qwen3ForCausalLM, "
        "Qwen3MoeForCausalLM and DeepseekV3ForCausalLM are",
        file_, named == nullptr ? "nothing" : printable(Fields::dump(*named), 80));
  }

  void check_constants() const {
    for (const ConstantField& field : constant_fields()) {
      const json* value = root_.find(field.name);
      if (value == nullptr || *value == constant(field.value)) continue;
      throw UserError("{}: {} is {}, but Octet has no {}: this model cannot be converted", file_, field.name,
                      printable(Fields::dump(*value), 60), field.what);
    }
    if (const json* layers = root_.find("layer_types"); layers != nullptr) {
      const bool full = layers->is_array() && std::all_of(layers->begin(), layers->end(),
                                                          [](const json& type) { return type == "full_attention"; });
      if (!full) root_.reject("layer_types", "must be full_attention throughout, since Octet has no sliding windows");
    }
  }

  void put(std::string_view key, ConfigValue value, std::string_view name, const Fields* object = nullptr) {
    const Fields& fields = object == nullptr ? root_ : *object;
    const ConfigField* field = find_config_field(key);
    if (field == nullptr) throw UserError("{} needs {}, which this octet has not", fields.origin(name), key);
    if (const auto violation = config_violation(*field, value)) {
      throw UserError("{}: {} {}", fields.origin(name), key, *violation);
    }
    field->set(result_.loaded.config, value);
    const std::string origin = name == guess         ? std::string(guess)
                               : fields.states(name) ? fields.origin(name)
                                                     : fmt::format("{}, default of transformers", fields.origin(name));
    result_.loaded.origins.insert_or_assign(std::string(key), origin);
  }

  /// A field that transformers does not allow to be null.
  [[nodiscard]] std::int64_t stated_or(std::string_view name, std::int64_t fallback) const {
    if (root_.states(name) && root_.find(name) == nullptr) root_.reject(name, "is null, and has to be a number");
    return root_.integer(name).value_or(fallback);
  }

  void read_integer(const IntegerField& field) {
    const bool by_alias = !field.alias.empty() && !root_.states(field.name) && root_.states(field.alias);
    const std::string_view name = by_alias ? field.alias : field.name;
    put(field.key, stated_or(name, field.fallback), name);
  }

  void read_tied() {
    const bool tied = root_.flag("tie_word_embeddings").value_or(false);
    if (const ConfigField* field = find_config_field("model.tied_embeddings");
        has_field(result_.loaded.config.model.family, *field) && !family_.experts) {
      put("model.tied_embeddings", tied, "tie_word_embeddings");
    } else if (tied) {
      throw UserError("{}: tie_word_embeddings is true, which Octet has not for {}", file_, family_.architecture);
    }
  }

  void read_grouped_heads() {
    const Config::Model& model = result_.loaded.config.model;
    const bool stated = root_.states("num_key_value_heads");
    const std::int64_t fallback = stated || fields_.kv_heads == 0 ? model.n_heads : fields_.kv_heads;
    put("model.n_kv_heads", root_.integer("num_key_value_heads").value_or(fallback), "num_key_value_heads");
    const bool divides = model.n_heads > 0 && model.dim % model.n_heads == 0;
    std::int64_t head_dim = root_.integer("head_dim").value_or(root_.states("head_dim") ? 0 : fields_.head_dim);
    if (head_dim == 0 && !divides) {
      throw UserError("{}: head_dim is missing, and hidden_size {} is no multiple of num_attention_heads {}", file_,
                      model.dim, model.n_heads);
    }
    if (head_dim != 0 && !(divides && head_dim == model.dim / model.n_heads))
      put("model.head_dim", head_dim, "head_dim");
  }

  void read_latent_heads() {
    const std::int64_t rank = root_.integer("q_lora_rank").value_or(root_.states("q_lora_rank") ? 0 : 1536);
    put("model.mla.q_lora_rank", rank, "q_lora_rank");
  }

  void read_experts() {
    const std::int64_t layers = result_.loaded.config.model.n_layers;
    put("model.moe.normalised", root_.flag("norm_topk_prob").value_or(fields_.normalised), "norm_topk_prob");
    if (!family_.latent_attention) {
      put("model.moe.dense_layers", count_dense_layers(), "mlp_only_layers");
      return;
    }
    const std::int64_t dense = stated_or("first_k_dense_replace", 3);
    put("model.moe.dense_layers", std::min(dense, layers), "first_k_dense_replace");
    put("model.moe.route_scale", root_.number("routed_scaling_factor").value_or(2.5), "routed_scaling_factor");
    const std::string_view name = root_.states("num_mtp_layers") ? "num_mtp_layers" : "num_nextn_predict_layers";
    result_.prediction_layers = root_.integer(name).value_or(0);
    if (result_.prediction_layers < 0 || result_.prediction_layers > max_prediction_layers) {
      root_.reject(name, fmt::format("must be 0 to {}", max_prediction_layers));
    }
  }

  /// Octet's dense layers are the first ones.
  [[nodiscard]] std::int64_t count_dense_layers() const {
    const json* dense = root_.find("mlp_only_layers");
    if (dense == nullptr) return 0;
    if (!dense->is_array()) root_.reject("mlp_only_layers", "is not a list of whole numbers");
    std::vector<std::int64_t> layers;
    for (const json& layer : *dense) {
      if (!layer.is_number_integer()) root_.reject("mlp_only_layers", "is not a list of whole numbers");
      layers.push_back(layer.get<std::int64_t>());
    }
    std::sort(layers.begin(), layers.end());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layers[i] != static_cast<std::int64_t>(i)) {
        root_.reject("mlp_only_layers", "must be the first layers, since Octet has dense layers nowhere else");
      }
    }
    return static_cast<std::int64_t>(layers.size());
  }

  /// transformers 5 writes rope_parameters, with the base inside; older ones rope_scaling, with the base beside it.
  void read_rope() {
    const std::optional<Fields> parameters = root_.object("rope_parameters");
    const std::optional<Fields> old = root_.object("rope_scaling");
    const std::optional<Fields>& rope = parameters ? parameters : old;
    const bool inside = rope && rope->find("rope_theta") != nullptr;
    put("model.rope_theta", (inside ? *rope : root_).number("rope_theta").value_or(10000.0), "rope_theta",
        inside ? &*rope : nullptr);
    if (!rope) return;
    if (rope->find("partial_rotary_factor") != nullptr && rope->number("partial_rotary_factor") != 1.0) {
      rope->reject("partial_rotary_factor", "must be 1, since Octet rotates whole heads");
    }
    const std::string_view spelled = rope->states("rope_type") ? "rope_type" : "type";
    const std::string type = rope->text(spelled).value_or("default");
    if (type == "default") return;
    if (type == "llama3" && family_.octet == "llama3") return read_llama_scaling(*rope);
    if (type == "yarn" && family_.octet == "deepseek_v3") return read_yarn(*rope);
    rope->reject(spelled,
                 fmt::format("is a scaling of the rotary embedding that Octet has not for {}", family_.architecture));
  }

  void put_number(const Fields& from, std::string_view name, std::string_view key, std::optional<double> fallback) {
    const std::optional<double> value = from.number(name);
    if (!value && !fallback) from.reject(name, "is missing");
    put(key, value.value_or(fallback.value_or(0)), name, &from);
  }

  void put_context(const Fields& from) {
    constexpr std::string_view name = "original_max_position_embeddings";
    put("model.rope_scaling.original_max_seq_len", from.integer(name).value_or(context()), name, &from);
  }

  void read_llama_scaling(const Fields& from) {
    put_number(from, "factor", "model.rope_scaling.factor", std::nullopt);
    put_number(from, "low_freq_factor", "model.rope_scaling.low_freq_factor", std::nullopt);
    put_number(from, "high_freq_factor", "model.rope_scaling.high_freq_factor", std::nullopt);
    put_context(from);
  }

  /// Where one of mscale and mscale_all_dim is missing or 0, transformers lets rotated parts grow by
  /// 0.1 ln(factor) + 1, and attention's scale by mscale_all_dim alone.
  void read_yarn(const Fields& from) {
    for (const std::string_view name : {"attention_factor", "truncate"}) {
      const json* value = from.find(name);
      if (value != nullptr && *value != json(true)) from.reject(name, "is a variant of YaRN that Octet has not");
    }
    put_number(from, "factor", "model.rope_scaling.factor", std::nullopt);
    put_number(from, "beta_fast", "model.rope_scaling.beta_fast", 32.0);
    put_number(from, "beta_slow", "model.rope_scaling.beta_slow", 1.0);
    put_context(from);
    double mscale = from.number("mscale").value_or(0);
    double all = from.number("mscale_all_dim").value_or(0);
    if (mscale == 0 && all != 0)
      from.reject("mscale_all_dim", "without mscale is a variant of YaRN that Octet has not");
    if (all == 0) mscale = 1;
    put("model.rope_scaling.mscale", mscale, "mscale", &from);
    put("model.rope_scaling.mscale_all_dim", all, "mscale_all_dim", &from);
  }

  void read_quantisation() {
    const std::optional<Fields> quantisation = root_.object("quantization_config");
    if (!quantisation) return;
    const std::string method = quantisation->text("quant_method").value_or("");
    const std::string format = quantisation->text("fmt").value_or("e4m3");
    const json* block = quantisation->find("weight_block_size");
    if (method != "fp8" || format != "e4m3" || block == nullptr ||
        *block != json::array({fp8_block_size, fp8_block_size})) {
      throw UserError(
          "{}: quantization_config is not fp8, e4m3, with weight_block_size [128, 128], the one that Octet "
          "reads; fetch the model in bf16",
          file_);
    }
    result_.fp8_blocks = true;
  }

  [[nodiscard]] std::int64_t context() const {
    return root_.integer("max_position_embeddings").value_or(fields_.context);
  }

  /// A configuration is whole only with a run to do. This one is where a fine-tuning may begin.
  void suggest_training() {
    put("training.steps", std::int64_t{1000}, guess);
    put("training.seq_len", std::clamp<std::int64_t>(context(), 1, 4096), guess);
    put("training.batch_size", std::int64_t{1}, guess);
    put("optimizer.lr", 1e-5, guess);
    put("data.train", std::vector<std::string>{"train.bin"}, guess);
  }

  void finish() {
    LoadedConfig& loaded = result_.loaded;
    for (const ConfigField& field : config_fields()) {
      if (!has_field(loaded.config.model.family, field)) continue;
      const bool stated = !loaded.origins.emplace(field.key, "default").second;
      check(stated || !field.required, "octet convert sets each required key");
    }
    check_config(loaded.config, loaded.origins);
  }

  std::string file_;
  Fields root_;
  ConvertedFamily family_;
  FamilyFields fields_;
  HuggingFaceConfig result_;
};

}  // namespace

HuggingFaceConfig parse_hugging_face_config(std::string_view text, const std::filesystem::path& path) {
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) {
    throw UserError("{} is not a JSON object; fetch it again", printable(path.string()));
  }
  return Reader(root, path).read();
}

}  // namespace octet
