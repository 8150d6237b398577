// A configuration that sets what it must and no more.
#pragma once

#include <string_view>

namespace octet {

inline constexpr std::string_view minimal_config = R"(version = 1
[model]
dim = 64
n_layers = 2
n_heads = 4
n_kv_heads = 2
ffn_dim = 192
[training]
steps = 10
seq_len = 64
batch_size = 4
[optimizer]
lr = 1e-3
[data]
train = "train.tok"
)";

}  // namespace octet
