// Prefetcher: the next batch of a Mix is made on a thread while the caller computes with the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <vector>

#include "data/mix.h"

namespace octet {

/// At most one batch ahead. What is handed out, and the state, are those of the Mix alone: batches that were made and
/// not taken never happened.
class Prefetcher {
 public:
  /// Batches of `tokens` inputs. With `documents` they carry where documents begin, which the shards then must know.
  Prefetcher(Mix mix, std::size_t tokens, bool documents);
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;
  /// Waits for the batch that is being made.
  ~Prefetcher() = default;

  /// The position behind the batches that next_batch() has handed out.
  [[nodiscard]] const MixState& state() const { return state_; }
  /// Before the first batch. Throws UserError as Mix does.
  void restore(const MixState& state);

  /// Fills `batch`: `tokens` inputs and targets, and document starts where they were asked for. What went wrong while
  /// it was made is thrown here.
  void next_batch(const TokenBatch& batch);

 private:
  struct Made {
    std::vector<std::int32_t> inputs, targets, document_start;
    MixState behind;  ///< the position after it
  };
  void begin(Made buffers);

  Mix mix_;
  MixState state_;
  Made first_;                // buffers until the first batch is begun
  std::future<Made> coming_;  // destroyed first: its thread uses mix_
};

}  // namespace octet
