// A model's tensors under both names. No element moves: shapes and the order of rows are the same on both sides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/config.h"

namespace octet {

struct TensorNames {
  std::string octet;         ///< "layers.0.attention.wq.weight"
  std::string hugging_face;  ///< "model.layers.0.self_attn.q_proj.weight"
  std::vector<std::uint64_t> shape;
  /// A router's bias, which training moves without gradients: fp32 always. Where model.moe.bias_rate is 0 Octet has
  /// none, and it is zero on the other side.
  bool router_bias = false;
};

/// All of them, in the model's order; those of multi-token prediction have no counterpart and are not among them.
/// UserError where there are more than 2^18.
[[nodiscard]] std::vector<TensorNames> tensor_names(const Config::Model& model);

}  // namespace octet
