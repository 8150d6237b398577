// Writes text with a trained model: one token at a time against a cache of keys and values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/llama.h"

namespace octet {

class LlamaDecoder {
 public:
  /// One sequence of at most `capacity` tokens.
  LlamaDecoder(Llama& model, std::int64_t capacity) : model_(model), capacity_(capacity) {}

  /// Takes the caches and the logits.
  void allocate(Memory& memory);

  /// Feeds the token at the next position; returns the logits [V] of what follows, valid until the next call.
  /// `run` must be inside a program of its memory. Throws Failure beyond the capacity.
  std::span<const bf16> step(ops::Executor& run, std::int32_t token);

  /// Forgets all positions; the next token is the first of a new sequence.
  void restart() { length_ = 0; }

  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }

 private:
  Llama& model_;
  std::int64_t capacity_;
  std::int64_t length_ = 0;
  std::vector<KeyValueCache> caches_;
  Buffer token_;   // [1, 1] i32
  Buffer logits_;  // [1, V] bf16
  std::vector<bf16> host_logits_;
};

}  // namespace octet
