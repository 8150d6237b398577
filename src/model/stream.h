// What flows through a model: micro-batches of tokens, and the residual stream between its blocks.
#pragma once

#include <cstdint>

#include "model/linear.h"
#include "ops/documents.h"

namespace octet {

/// How the tokens of one micro-batch are divided: into sequences, and these into documents.
struct BatchShape {
  std::int64_t batch = 0;
  std::int64_t seq_len = 0;
  ops::Documents documents = {};  ///< in device memory; one a sequence unless packed
  [[nodiscard]] std::int64_t tokens() const { return batch * seq_len; }
};

/// Tokens and targets of one micro-batch, [T] each, in device memory.
struct Batch {
  BatchShape shape;
  const std::int32_t* inputs = nullptr;
  const std::int32_t* targets = nullptr;  ///< below 0: none
  float token_weight = 1;                 ///< of a token in means over all tokens of a step: one over their number
};

/// The residual stream between blocks: x [T, D] plus a delta [T, D] that the next norm adds on its way.
struct Residual {
  Buffer x;
  Buffer delta;  ///< empty at the first block
};

/// The gradient of the residual stream [T, D], with what the layer below wants beside it.
using ResidualGradient = LinearOperand;

}  // namespace octet
