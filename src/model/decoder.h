// Writes text with a trained model: reads a prompt in one pass, then one token at a time against a cache of keys and
// values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"

namespace octet {

class Decoder {
 public:
  /// One sequence of at most `capacity` tokens.
  Decoder(Model& model, std::int64_t capacity) : model_(model), capacity_(capacity) {}

  /// Takes the caches, room for tokens, and the logits.
  void allocate(Memory& memory);

  /// Begins a sequence with `tokens`, 1 to capacity() of them, all in one pass, whatever came before. Returns the
  /// logits [V] of what follows the last, valid until the next call. `run` must be inside a program of its memory,
  /// which is another one for each number of tokens. Throws Failure beyond the capacity.
  std::span<const bf16> prefill(ops::Executor& run, std::span<const std::int32_t> tokens);

  /// Feeds the token at the next position; the logits of what follows, as above. One program serves all positions.
  std::span<const bf16> step(ops::Executor& run, std::int32_t token);

  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }

 private:
  std::span<const bf16> feed(ops::Executor& run, std::span<const std::int32_t> tokens);

  Model& model_;
  std::int64_t capacity_;
  std::int64_t length_ = 0;
  std::vector<KeyValueCache> caches_;
  Buffer tokens_;  // [1, capacity] i32
  Buffer logits_;  // [1, V] bf16
  std::vector<bf16> host_logits_;
};

}  // namespace octet
