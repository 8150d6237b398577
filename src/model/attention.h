// Attention in a block that may have a mixture of experts: the two kinds of it behind one interface.
#pragma once

#include <vector>

#include "model/key_value_cache.h"
#include "model/saving.h"
#include "model/stream.h"

namespace octet {

class Attention {
 public:
  /// What backward reads of a forward pass, or makes again. T tokens, D the stream's width, H query heads, C the
  /// columns of queries, keys and values, v the elements of a value head.
  struct Saved {
    LinearOperand in;         // [T, D]: into the first layer
    Buffer down;              // [T, its columns] bf16: of that layer
    Buffer q_rstd, kv_rstd;   // latent attention: [1, T] f32 of the latents' norms
    LinearOperand q_latent;   // latent attention: [T, q_lora], into wq_b
    LinearOperand kv_latent;  // latent attention: [T, kv_lora], into wkv_b
    Buffer qkv;               // [T, C] bf16, as attention reads it
    Buffer out;               // [T, H v] bf16
    LinearOperand wo_in;      // [T, H v]: a view of out, and its maxima
    Buffer lse;               // [B, H * S] f32
  };

  virtual ~Attention() = default;

  /// Once the slab has memory.
  virtual void allocate(Memory& memory) = 0;
  virtual void measure_weights(ops::Executor& run) const = 0;
  virtual void cast_weights(ops::Executor& run) const = 0;

  /// The layer that reads the input, and what becomes of that.
  [[nodiscard]] virtual const Linear& first() const = 0;
  [[nodiscard]] virtual InputUse first_use(Pass pass) const = 0;
  /// The layer that the result comes from.
  [[nodiscard]] virtual const Linear& last() const = 0;

  /// The delta [T, D] that goes to the residual stream, from saved.in.
  [[nodiscard]] virtual Buffer forward(ops::Executor& run, Pass pass, const BatchShape& shape, const float* cos_sin,
                                       Saved& saved) const = 0;
  /// The delta of the tokens from `position` on, whose keys and values join the cache, as KeyValueCache::attend() takes
  /// them, from saved.in.
  [[nodiscard]] virtual Buffer decode(ops::Executor& run, std::int64_t position, const float* cos_sin,
                                      const KeyValueCache& cache, Saved& saved) const = 0;
  [[nodiscard]] virtual KeyValueCache allocate_cache(Memory& memory, std::int64_t capacity) const = 0;
  /// What forward dropped, in its order, once saved.in has its values again. The delta, where the stream is made again.
  [[nodiscard]] virtual Buffer make_again(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                          Saved& saved) const = 0;
  /// The gradient of the input [T, D] from that of the delta.
  [[nodiscard]] virtual Buffer backward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                        LinearOperand& ddelta, Saved& saved, bool accumulate) const = 0;

  /// In the order of the precision table.
  [[nodiscard]] virtual std::vector<Linear*> linears() = 0;
};

}  // namespace octet
