// Training examples: the non-overlapping windows of seq_len + 1 tokens in a list of shards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/shard.h"

namespace octet {

/// Where a batch is written: views of memory of the caller, [rows, seq_len] each, at least one row.
struct TokenBatch {
  std::span<std::int32_t> inputs;
  std::span<std::int32_t> targets;         ///< the token after each input; -1 where a shard says that it is no target
  std::span<std::int32_t> document_start;  ///< index in its row of the first token of each input's document; or empty
};

/// Windows are numbered from 0, shard after shard; none spans two shards, and what is left at a shard's end is unused.
class Windows {
 public:
  /// Throws UserError when a shard is shorter than one window, or was packed into rows of another length.
  Windows(std::vector<Shard> shards, std::uint64_t seq_len);

  [[nodiscard]] std::uint64_t count() const { return first_.back(); }
  [[nodiscard]] std::uint64_t seq_len() const { return seq_len_; }

  /// Throws UserError when a shard does not say where documents begin, which `document_start` of a batch needs.
  void require_documents() const;

  /// Rows in `batch`.
  [[nodiscard]] std::size_t rows(const TokenBatch& batch) const;

  /// Writes window `window` to row `row` of `batch`: its first seq_len tokens are inputs, its last seq_len tokens their
  /// targets. The last token of a document keeps its target, the first of the next one, unless the shard says
  /// otherwise.
  void read(std::uint64_t window, std::size_t row, const TokenBatch& batch) const;

 private:
  std::vector<Shard> shards_;
  std::uint64_t seq_len_;
  std::vector<std::uint64_t> first_;  // [shards + 1] number of the first window of each shard, then the total
};

}  // namespace octet
