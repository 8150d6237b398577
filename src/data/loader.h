// Batches from one source for training (shuffled, any number of epochs, resumable), and for validation (fixed).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/shard.h"
#include "data/windows.h"

namespace octet {

/// The position of a Loader: what a checkpoint keeps.
struct LoaderState {
  std::uint64_t epoch = 0;  ///< from 0
  std::uint64_t next = 0;   ///< windows of this epoch already handed out, below windows_per_epoch()

  bool operator==(const LoaderState&) const = default;
};

/// Whether an epoch goes through the data in a random order or as they lie.
enum class DataOrder : std::uint8_t { shuffled, as_stored };

/// Hands out each window once per epoch, in an order that the seed and the epoch decide. The stream of rows depends on
/// nothing else: N batches of one row are one batch of N rows, and a restored loader goes on as if never stopped.
class Loader {
 public:
  /// Throws UserError when a shard is shorter than seq_len + 1 tokens, or was packed into rows of another length.
  Loader(std::vector<Shard> shards, std::uint64_t seq_len, std::uint64_t seed, DataOrder order = DataOrder::shuffled);

  [[nodiscard]] std::uint64_t windows_per_epoch() const { return windows_.count(); }
  [[nodiscard]] LoaderState state() const { return state_; }

  /// Throws UserError when these data have no such position.
  void restore(LoaderState state);

  /// Throws UserError when a shard does not say where documents begin.
  void require_documents() const { windows_.require_documents(); }

  /// Rows in `batch`.
  [[nodiscard]] std::size_t rows(const TokenBatch& batch) const { return windows_.rows(batch); }
  /// Fills row `row` of `batch`. After the last window of an epoch comes the first of the next.
  void next_row(std::size_t row, const TokenBatch& batch);
  /// Fills all rows of `batch`.
  void next_batch(const TokenBatch& batch);

 private:
  Windows windows_;
  std::uint64_t seed_;
  DataOrder order_;
  LoaderState state_;
};

/// The first windows of the data, in order: the same at every validation.
class ValidationLoader {
 public:
  /// Uses the first `max_windows` windows (at least 1), or all when there are fewer.
  /// Throws UserError when a shard is shorter than seq_len + 1 tokens, or was packed into rows of another length.
  ValidationLoader(std::vector<Shard> shards, std::uint64_t seq_len, std::uint64_t max_windows);

  [[nodiscard]] std::uint64_t windows() const { return count_; }
  /// Whether its first `windows` windows have a target at all, which marks can deny. Reads until it finds one.
  [[nodiscard]] bool has_targets(std::uint64_t windows) const;

  /// Throws UserError when a shard does not say where documents begin.
  void require_documents() const { windows_.require_documents(); }

  /// Fills `batch` with the windows [first, first + rows); all must exist.
  void read(std::uint64_t first, const TokenBatch& batch) const;

 private:
  Windows windows_;
  std::uint64_t count_;
};

}  // namespace octet
