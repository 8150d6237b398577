// The model families that exist on both sides: what Octet and Hugging Face call them, and what they are made of.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace octet {

struct ConvertedFamily {
  std::string_view octet;         ///< model.family
  std::string_view architecture;  ///< "architectures" in config.json
  std::string_view model_type;
  bool latent_attention;
  bool normed_heads;
  bool experts;
};

inline constexpr std::array converted_families = {
    ConvertedFamily{"llama3", "LlamaForCausalLM", "llama", false, false, false},
    ConvertedFamily{"qwen3", "Qwen3ForCausalLM", "qwen3", false, true, false},
    ConvertedFamily{"qwen3_moe", "Qwen3MoeForCausalLM", "qwen3_moe", false, true, true},
    ConvertedFamily{"deepseek_v3", "DeepseekV3ForCausalLM", "deepseek_v3", true, false, true},
};

/// The family that Octet knows under that name; nothing where there is none on the other side.
[[nodiscard]] constexpr const ConvertedFamily* converted_family(std::string_view octet) {
  for (const ConvertedFamily& family : converted_families) {
    if (family.octet == octet) return &family;
  }
  return nullptr;
}

}  // namespace octet
