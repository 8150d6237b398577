#include "train/model_setup.h"

#include <algorithm>
#include <charconv>

#include "fp8/demonstration.h"
#include "ops/cpu/cpu_backend.h"

namespace octet {

std::unique_ptr<ops::Backend> open_device(const std::string& name, int threads, const ops::GpuOptions& gpu) {
  if (name == "cpu") return ops::make_cpu_backend(threads);
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  int index = 0;
  bool understood = kind == "cuda" || kind == "hip";
  if (colon != std::string::npos) {
    const char* begin = name.data() + colon + 1;
    const char* end = name.data() + name.size();
    understood = understood && begin != end && std::from_chars(begin, end, index).ptr == end;
  }
  if (!understood) throw UserError("there is no device \"{}\": the devices are cpu, cuda, cuda:N, hip and hip:N", name);
  return kind == "cuda" ? ops::make_cuda_backend(index, gpu) : ops::make_hip_backend(index, gpu);
}

std::unique_ptr<ops::Backend> make_backend(const Config& config) {
  return open_device(config.runtime.device, static_cast<int>(config.runtime.threads),
                     {.deterministic = config.training.deterministic});
}

fp8::FormatFamily choose_family(const Config& config, const ops::Backend& backend) {
  const auto families = backend.device().families();
  if (config.precision.fp8_format == Config::Fp8Format::automatic) return families.front();
  const auto wanted =
      config.precision.fp8_format == Config::Fp8Format::fnuz ? fp8::FormatFamily::fnuz : fp8::FormatFamily::ocp;
  if (std::find(families.begin(), families.end(), wanted) != families.end()) return wanted;
  throw UserError("precision.fp8_format = \"{}\" asks for {}, but device {} computes in {}: use \"auto\"",
                  config_name(config.precision.fp8_format), fp8::name(fp8::forward_format(wanted)), backend.name(),
                  fp8::name(fp8::forward_format(families.front())));
}

void check_fp8_max(const Config& config, fp8::FormatFamily family) {
  const double wanted = config.precision.fp8_max;
  const fp8::Format format = fp8::forward_format(family);
  const double maximum = fp8::info(format).max;
  if (wanted == 0 || wanted == maximum) return;
  throw UserError(
      "precision.fp8_max = {} is refused: {} ends at {}, values scaled for another maximum are clipped or "
      "become NaN without a word; remove the key (octet train --demonstrate fnuz_max_448 shows the damage)",
      wanted, fp8::name(format), maximum);
}

LlamaConfig llama_config(const Config& config) {
  const Config::Model& model = config.model;
  LlamaConfig llama;
  llama.vocab = model.vocab_size;
  llama.dim = model.dim;
  llama.layers = model.n_layers;
  llama.heads = model.n_heads;
  llama.kv_heads = model.n_kv_heads;
  llama.own_head_dim = model.own_head_dim;
  llama.qk_norm = model.has_normed_heads();
  llama.ffn_dim = model.ffn_dim;
  llama.rope_theta = model.rope_theta;
  if (model.rope_scaling.enabled()) {
    llama.rope_scaling = ops::RopeScaling{model.rope_scaling.factor, model.rope_scaling.low_freq_factor,
                                          model.rope_scaling.high_freq_factor, model.rope_scaling.original_max_seq_len};
  }
  llama.norm_eps = static_cast<float>(model.norm_eps);
  llama.tied_embeddings = model.tied_embeddings;
  llama.init_std = model.init_std;
  return llama;
}

namespace {

std::optional<ops::YarnScaling> yarn_scaling(const Config::RopeScaling& scaling) {
  if (!scaling.enabled()) return std::nullopt;
  return ops::YarnScaling{.factor = scaling.factor,
                          .original_max_seq_len = scaling.original_max_seq_len,
                          .beta_fast = scaling.beta_fast,
                          .beta_slow = scaling.beta_slow,
                          .mscale = scaling.mscale,
                          .mscale_all_dim = scaling.mscale_all_dim};
}

/// Qwen3's router is a softmax without biases, and has no shared experts.
MoeConfig qwen3_moe_config(const Config::Moe& moe) {
  return {.rule = {.experts = moe.experts,
                   .top_k = moe.top_k,
                   .score = ops::RouterScore::softmax,
                   .normalised = moe.normalised},
          .ffn_dim = moe.ffn_dim,
          .balance_weight = static_cast<float>(moe.balance_weight)};
}

MoeConfig deepseek_moe_config(const Config::Moe& moe) {
  const bool sigmoid = moe.score == Config::RouterScore::sigmoid;
  return {.rule = {.experts = moe.experts,
                   .top_k = moe.top_k,
                   .groups = moe.groups,
                   .kept_groups = moe.kept_groups,
                   .score = sigmoid ? ops::RouterScore::sigmoid : ops::RouterScore::softmax,
                   .normalised = moe.normalised,
                   .scale = static_cast<float>(moe.route_scale)},
          .ffn_dim = moe.ffn_dim,
          .shared_experts = moe.shared_experts,
          .bias_rate = static_cast<float>(moe.bias_rate),
          .balance_weight = static_cast<float>(moe.balance_weight)};
}

}  // namespace

DeepSeekConfig deepseek_config(const Config& config) {
  const Config::Model& model = config.model;
  DeepSeekConfig deepseek;
  deepseek.vocab = model.vocab_size;
  deepseek.dim = model.dim;
  deepseek.layers = model.n_layers;
  deepseek.dense_layers = model.moe.dense_layers;
  deepseek.heads = model.n_heads;
  deepseek.q_lora_rank = model.mla.q_lora_rank;
  deepseek.kv_lora_rank = model.mla.kv_lora_rank;
  deepseek.nope_dim = model.mla.nope_head_dim;
  deepseek.rope_dim = model.has_latent_attention() ? model.mla.rope_head_dim : model.head_dim();
  deepseek.value_dim = model.value_head_dim();
  deepseek.ffn_dim = model.ffn_dim;
  if (model.has_latent_attention()) {
    deepseek.moe = deepseek_moe_config(model.moe);
  } else {
    deepseek.kv_heads = model.n_kv_heads;
    deepseek.moe = qwen3_moe_config(model.moe);
  }
  deepseek.mtp_depth = model.mtp.depth;
  deepseek.mtp_weight = static_cast<float>(model.mtp.weight);
  deepseek.rope_theta = model.rope_theta;
  deepseek.yarn = yarn_scaling(model.rope_scaling);
  deepseek.norm_eps = static_cast<float>(model.norm_eps);
  deepseek.init_std = model.init_std;
  return deepseek;
}

namespace {

DType dtype_of(Config::StateDType state) {
  return state == Config::StateDType::fp32 ? DType::f32 : DType::bf16;
}

}  // namespace

SlabStorage slab_storage(const Config& config, bool training) {
  return {.master = config.optimizer.parameters == Config::StateDType::fp32,
          .training = training,
          .moments = dtype_of(config.optimizer.moments),
          .gradients = dtype_of(config.optimizer.gradients),
          .gradient_life = config.training.accumulate == 1 ? GradientLife::step : GradientLife::run};
}

Saving saving_options(const Config& config) {
  Saving saving;
  if (config.precision.saved_inputs == Config::SavedInputs::bf16) saving.inputs = SavedInput::bf16;
  if (config.training.recompute == Config::Recompute::full) saving.recompute = Recompute::full();
  for (const std::string& name : config.training.recompute_ops) {
    const auto op = std::find_if(kRecomputeOps.begin(), kRecomputeOps.end(),
                                 [&](const RecomputeOp& known) { return known.name == name; });
    if (op == kRecomputeOps.end()) {
      throw UserError("training.recompute_ops: there is no \"{}\"; the ops are norm, qkv, attention, gate_up, swiglu",
                      name);
    }
    if (config.training.recompute != Config::Recompute::selective) continue;
    saving.recompute.*(op->flag) = true;
    if (op->brings_norm) saving.recompute.norm = true;
  }
  return saving;
}

namespace {

std::optional<fp8::Accumulation> override_of(Config::Accumulation accumulation) {
  switch (accumulation) {
    case Config::Accumulation::fast:
      return fp8::Accumulation::fast;
    case Config::Accumulation::full:
      return fp8::Accumulation::full;
    case Config::Accumulation::recipe:
      break;
  }
  return std::nullopt;
}

}  // namespace

PrecisionOptions precision_options(const Config& config, fp8::FormatFamily family) {
  const Config::Precision& precision = config.precision;
  const auto in_bf16 = [](Config::ExpertPrecision product) { return product == Config::ExpertPrecision::bf16; };
  return {fp8::find_recipe(config_name(precision.recipe)),
          family,
          precision.skip,
          precision.min_size,
          precision.head == Config::HeadPrecision::fp8,
          {override_of(precision.accumulation_forward), override_of(precision.accumulation_dgrad),
           override_of(precision.accumulation_wgrad)},
          {},
          {in_bf16(precision.experts_forward), in_bf16(precision.experts_dgrad), in_bf16(precision.experts_wgrad)}};
}

namespace {

/// A GPU's products want more rows at once, and each further chunk adds to the head's whole gradient once more.
constexpr std::int64_t kLogitsBytesOnGpu = std::int64_t{1} << 30;
/// Where gradients are bf16, the head's takes half if one chunk writes it: of 8192 tokens of Llama 3 8B, what that
/// saves is what one chunk instead of two takes.
constexpr std::int64_t kLogitsBytesOnGpuForBf16Gradients = std::int64_t{2} << 30;

/// Tied embeddings add to the head's gradient, which stays fp32: more logits would save nothing there, nor where they
/// are more than one chunk all the same.
std::int64_t logits_bytes_on_gpu(const Config& config, std::int64_t tokens) {
  const std::int64_t all = tokens * config.model.vocab_size * std::int64_t{sizeof(bf16)};
  const bool head_in_bf16 = config.optimizer.gradients == Config::StateDType::bf16 && !config.model.tied_embeddings;
  return head_in_bf16 && all <= kLogitsBytesOnGpuForBf16Gradients ? kLogitsBytesOnGpuForBf16Gradients
                                                                  : kLogitsBytesOnGpu;
}

std::int64_t tokens_of(const Config& config) {
  return config.training.batch_size * config.training.seq_len;
}

ModelOptions model_options(const Config& config, const ops::Backend& backend, PrecisionOptions precision) {
  const auto weight_codes =
      config.precision.weight_codes == Config::WeightCodes::cached ? WeightCodes::cached : WeightCodes::per_use;
  ModelOptions options{
      .precision = std::move(precision), .weight_codes = weight_codes, .saving = saving_options(config)};
  if (!backend.device().host_memory()) options.logits_bytes = logits_bytes_on_gpu(config, tokens_of(config));
  return options;
}

std::unique_ptr<Model> build(const Config& config, const ModelOptions& options) {
  if (!config.model.has_experts()) {
    return std::make_unique<Llama>(llama_config(config), tokens_of(config), config.training.seq_len, options);
  }
  if (config.precision.shadow != Config::Shadow::none) {
    throw UserError(
        "precision.shadow = \"{}\" is not there yet for model.family = \"{}\", whose experts it does not watch; set it "
        "to \"none\"",
        config_name(config.precision.shadow), config_name(config.model.family));
  }
  return std::make_unique<DeepSeek>(deepseek_config(config), tokens_of(config), config.training.seq_len, options);
}

PrecisionOptions checked_precision(const Config& config, const ops::Backend& backend) {
  const fp8::FormatFamily family = choose_family(config, backend);
  check_fp8_max(config, family);
  return precision_options(config, family);
}

}  // namespace

std::unique_ptr<Model> make_model(const Config& config, const ops::Backend& backend) {
  return build(config, model_options(config, backend, checked_precision(config, backend)));
}

std::unique_ptr<Model> make_inference_model(const Config& config, const ops::Backend& backend) {
  ModelOptions options = model_options(config, backend, checked_precision(config, backend));
  options.weight_codes = WeightCodes::forward_only;
  return build(config, options);
}

std::unique_ptr<Model> make_faulty_model(const Config& config, const ops::Backend& backend) {
  const fp8::FormatFamily family = choose_family(config, backend);
  PrecisionOptions precision = precision_options(config, family);
  if (family != fp8::FormatFamily::fnuz || !precision.recipe->uses_fp8()) {
    throw UserError("--demonstrate fnuz_max_448 shows a fault of e4m3fnuz: add --recipe rowwise --fp8-format fnuz");
  }
  precision.faulty_rule = fp8::demonstration::fnuz_scaled_for_448(precision.recipe->power_of_two);
  return build(config, model_options(config, backend, std::move(precision)));
}

}  // namespace octet
