#include "convert/tensor_names.h"

#include <fmt/format.h>

#include "convert/families.h"
#include "core/error.h"

namespace octet {
namespace {

// A published model of 671B parameters has 5e4 tensors; a damaged configuration may claim any number.
constexpr std::int64_t max_tensors = 1 << 18;

std::uint64_t extent(std::int64_t value) {
  check(value >= 0, "a size is not negative");
  return static_cast<std::uint64_t>(value);
}

/// Writes the list, layer by layer.
class NameList {
 public:
  explicit NameList(const Config::Model& model) : model_(model) {
    const ConvertedFamily* family = converted_family(config_name(model.family));
    check(family != nullptr, "every family of Octet has a counterpart");
    family_ = *family;
  }

  [[nodiscard]] std::vector<TensorNames> list() {
    check_count();
    add("tok_embeddings.weight", "model.embed_tokens.weight", {model_.vocab_size, model_.dim});
    for (std::int64_t i = 0; i < model_.n_layers; ++i) add_layer(i);
    add("norm.weight", "model.norm.weight", {model_.dim});
    if (!model_.tied_embeddings) add("output.weight", "lm_head.weight", {model_.vocab_size, model_.dim});
    return std::move(names_);
  }

 private:
  void check_count() const {
    const std::int64_t of_layer = 32 + (family_.experts ? 3 * model_.moe.experts : 0);
    if (model_.n_layers <= max_tensors / of_layer) return;
    throw UserError(
        "{} layers of about {} tensors are more than the {} that octet convert handles; is the "
        "configuration damaged?",
        model_.n_layers, of_layer, max_tensors);
  }

  void add(std::string octet, std::string hugging_face, std::initializer_list<std::int64_t> shape,
           bool router_bias = false) {
    std::vector<std::uint64_t> extents;
    for (const std::int64_t size : shape) extents.push_back(extent(size));
    names_.push_back({std::move(octet), std::move(hugging_face), std::move(extents), router_bias});
  }

  void add_layer(std::int64_t index) {
    octet_ = fmt::format("layers.{}.", index);
    hugging_face_ = fmt::format("model.layers.{}.", index);
    add_here("attention_norm", "input_layernorm", {model_.dim});
    family_.latent_attention ? add_latent_attention() : add_grouped_attention();
    add_here("ffn_norm", "post_attention_layernorm", {model_.dim});
    if (family_.experts && index >= model_.moe.dense_layers) {
      add_experts();
    } else {
      add_network("feed_forward", "mlp", model_.ffn_dim);
    }
  }

  /// A weight of the layer that is being added.
  void add_here(std::string_view octet, std::string_view hugging_face, std::initializer_list<std::int64_t> shape) {
    add(fmt::format("{}{}.weight", octet_, octet), fmt::format("{}{}.weight", hugging_face_, hugging_face), shape);
  }

  void add_grouped_attention() {
    const std::int64_t query_rows = model_.n_heads * model_.head_dim();
    const std::int64_t key_rows = model_.n_kv_heads * model_.head_dim();
    add_here("attention.wq", "self_attn.q_proj", {query_rows, model_.dim});
    add_here("attention.wk", "self_attn.k_proj", {key_rows, model_.dim});
    add_here("attention.wv", "self_attn.v_proj", {key_rows, model_.dim});
    if (family_.normed_heads) {
      add_here("attention.q_norm", "self_attn.q_norm", {model_.head_dim()});
      add_here("attention.k_norm", "self_attn.k_norm", {model_.head_dim()});
    }
    add_here("attention.wo", "self_attn.o_proj", {model_.dim, query_rows});
  }

  void add_latent_attention() {
    const Config::Mla& mla = model_.mla;
    const std::int64_t query_rows = model_.n_heads * (mla.nope_head_dim + mla.rope_head_dim);
    if (mla.q_lora_rank > 0) {
      add_here("attention.wq_a", "self_attn.q_a_proj", {mla.q_lora_rank, model_.dim});
      add_here("attention.q_norm", "self_attn.q_a_layernorm", {mla.q_lora_rank});
      add_here("attention.wq_b", "self_attn.q_b_proj", {query_rows, mla.q_lora_rank});
    } else {
      add_here("attention.wq", "self_attn.q_proj", {query_rows, model_.dim});
    }
    add_here("attention.wkv_a", "self_attn.kv_a_proj_with_mqa", {mla.kv_lora_rank + mla.rope_head_dim, model_.dim});
    add_here("attention.kv_norm", "self_attn.kv_a_layernorm", {mla.kv_lora_rank});
    add_here("attention.wkv_b", "self_attn.kv_b_proj",
             {model_.n_heads * (mla.nope_head_dim + mla.value_head_dim), mla.kv_lora_rank});
    add_here("attention.wo", "self_attn.o_proj", {model_.dim, model_.n_heads * mla.value_head_dim});
  }

  void add_network(const std::string& octet, const std::string& hugging_face, std::int64_t width) {
    add_here(octet + ".w1", hugging_face + ".gate_proj", {width, model_.dim});
    add_here(octet + ".w3", hugging_face + ".up_proj", {width, model_.dim});
    add_here(octet + ".w2", hugging_face + ".down_proj", {model_.dim, width});
  }

  void add_experts() {
    const Config::Moe& moe = model_.moe;
    add_here("moe.gate", "mlp.gate", {moe.experts, model_.dim});
    if (family_.latent_attention) {
      add(octet_ + "moe.gate.expert_bias", hugging_face_ + "mlp.gate.e_score_correction_bias", {moe.experts}, true);
    }
    for (std::int64_t e = 0; e < moe.experts; ++e) {
      add_network(fmt::format("moe.experts.{}", e), fmt::format("mlp.experts.{}", e), moe.ffn_dim);
    }
    if (moe.shared_experts > 0) {
      add_network("moe.shared_experts", "mlp.shared_experts", moe.shared_experts * moe.ffn_dim);
    }
  }

  const Config::Model& model_;
  ConvertedFamily family_{};
  std::string octet_, hugging_face_;  // what the names of the layer's tensors begin with
  std::vector<TensorNames> names_;
};

}  // namespace

std::vector<TensorNames> tensor_names(const Config::Model& model) {
  return NameList(model).list();
}

}  // namespace octet
