// A DeepSeek-V3 small enough to build, train and save in milliseconds: a dense layer, and one with experts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/small_engine.h"

namespace octet::test {

inline constexpr std::string_view kSmallDeepSeek = R"(version = 1
[model]
family = "deepseek_v3"
dim = 32
n_layers = 2
n_heads = 2
ffn_dim = 64
mla = { q_lora_rank = 16, kv_lora_rank = 16, nope_head_dim = 16, rope_head_dim = 16, value_head_dim = 16 }
[model.moe]
dense_layers = 1
ffn_dim = 32
experts = 4
shared_experts = 1
top_k = 2
bias_rate = 0.125
[training]
steps = 4
seq_len = 16
batch_size = 2
[optimizer]
lr = 1e-3
[precision]
min_size = 0
[data]
train = "train.tok"
)";

/// `overrides` are "section.key=value".
inline LoadedConfig small_deepseek_config(const std::vector<std::string>& overrides = {}) {
  return parse_config(kSmallDeepSeek, "small_deepseek.toml", overrides);
}

}  // namespace octet::test
