#include "convert/hugging_face_fields.h"

#include "core/error.h"

namespace octet {
namespace {

constexpr IntegerField llama[] = {{"vocab_size", "model.vocab_size", 32000},
                                  {"hidden_size", "model.dim", 4096},
                                  {"intermediate_size", "model.ffn_dim", 11008},
                                  {"num_hidden_layers", "model.n_layers", 32},
                                  {"num_attention_heads", "model.n_heads", 32}};

constexpr IntegerField qwen3[] = {{"vocab_size", "model.vocab_size", 151936},
                                  {"hidden_size", "model.dim", 4096},
                                  {"intermediate_size", "model.ffn_dim", 22016},
                                  {"num_hidden_layers", "model.n_layers", 32},
                                  {"num_attention_heads", "model.n_heads", 32}};

constexpr IntegerField qwen3_moe[] = {{"vocab_size", "model.vocab_size", 151936},
                                      {"hidden_size", "model.dim", 2048},
                                      {"intermediate_size", "model.ffn_dim", 6144},
                                      {"num_hidden_layers", "model.n_layers", 24},
                                      {"num_attention_heads", "model.n_heads", 32},
                                      {"moe_intermediate_size", "model.moe.ffn_dim", 768},
                                      {"num_experts", "model.moe.experts", 128, "num_local_experts"},
                                      {"num_experts_per_tok", "model.moe.top_k", 8}};

constexpr IntegerField deepseek_v3[] = {{"vocab_size", "model.vocab_size", 129280},
                                        {"hidden_size", "model.dim", 7168},
                                        {"intermediate_size", "model.ffn_dim", 18432},
                                        {"num_hidden_layers", "model.n_layers", 61},
                                        {"num_attention_heads", "model.n_heads", 128},
                                        {"kv_lora_rank", "model.mla.kv_lora_rank", 512},
                                        {"qk_nope_head_dim", "model.mla.nope_head_dim", 128},
                                        {"qk_rope_head_dim", "model.mla.rope_head_dim", 64},
                                        {"v_head_dim", "model.mla.value_head_dim", 128},
                                        {"moe_intermediate_size", "model.moe.ffn_dim", 2048},
                                        {"n_routed_experts", "model.moe.experts", 256, "num_local_experts"},
                                        {"n_shared_experts", "model.moe.shared_experts", 1},
                                        {"num_experts_per_tok", "model.moe.top_k", 8},
                                        {"n_group", "model.moe.groups", 8},
                                        {"topk_group", "model.moe.kept_groups", 4}};

constexpr ConstantField constants[] = {{"attention_bias", Constant::no, "biases of attention's projections"},
                                       {"mlp_bias", Constant::no, "biases of the feed-forward network"},
                                       {"hidden_act", Constant::silu, "another activation than silu"},
                                       {"attention_dropout", Constant::zero, "dropout"},
                                       {"use_sliding_window", Constant::no, "attention in sliding windows"},
                                       {"rope_interleave", Constant::yes, "rotary halves in latent attention"},
                                       {"partial_rotary_factor", Constant::one, "heads that are rotated in part"},
                                       {"decoder_sparse_step", Constant::one, "experts in every other layer"},
                                       {"moe_layer_freq", Constant::one, "experts in every other layer"},
                                       {"scoring_func", Constant::sigmoid, "another router than that of DeepSeek-V3"},
                                       {"topk_method", Constant::noaux_tc, "another router than that of DeepSeek-V3"}};

}  // namespace

FamilyFields fields_of(const ConvertedFamily& family) {
  if (family.octet == "llama3") return {llama, 0, 0, 2048, true};
  if (family.octet == "qwen3") return {qwen3, 32, 128, 32768, true};
  if (family.octet == "qwen3_moe") return {qwen3_moe, 4, 0, 32768, false};
  check(family.octet == "deepseek_v3", "each converted family has fields");
  return {deepseek_v3, 0, 0, 4096, true};
}

std::span<const ConstantField> constant_fields() {
  return constants;
}

}  // namespace octet
