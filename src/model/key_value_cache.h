// Keys and values of the positions that a sequence has had so far, and attention of its next tokens to them.
#pragma once

#include <string>

#include "ops/executor.h"

namespace octet {

/// One layer's, as attention reads them: rotated, each key/value head apart. A position takes KV (hd + vd) bf16; in
/// multi-head latent attention KV is the number of query heads, as what is cached are the assembled heads rather than
/// the latent, which would take less room and products over all positions for each token.
class KeyValueCache {
 public:
  /// Of one sequence of at most `capacity` tokens. Of `heads`, batch and seq_len are unread.
  KeyValueCache(Memory& memory, const std::string& name, std::int64_t capacity, const ops::AttentionShape& heads,
                float scale);

  /// out [T, H vd] = attention of the T tokens from `position` on, of which qkv [T, (H + KV) hd + KV vd] holds the
  /// rotated heads, to themselves and all before. Their keys and values join the cache. T is 1, or any that fits at
  /// position 0.
  void attend(ops::Executor& run, const Tensor& qkv, std::int64_t position, const Tensor& out) const;

  [[nodiscard]] std::int64_t capacity() const { return k_.tensor().rows(); }

 private:
  std::string name_;
  ops::AttentionShape heads_;
  float scale_;
  Buffer k_;  // [capacity, KV hd] bf16
  Buffer v_;  // [capacity, KV vd] bf16
};

}  // namespace octet
