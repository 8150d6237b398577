// Training examples: the non-overlapping windows of seq_len + 1 tokens in a list of shards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/shard.h"

namespace octet {

/// Windows are numbered from 0, shard after shard; none spans two shards, and what is left at a shard's end is unused.
class Windows {
 public:
  /// Throws UserError when a shard is shorter than one window.
  Windows(std::vector<Shard> shards, std::uint64_t seq_len);

  [[nodiscard]] std::uint64_t count() const { return first_.back(); }
  [[nodiscard]] std::uint64_t seq_len() const { return seq_len_; }

  /// Rows in a batch of `inputs` and `targets`: both [rows, seq_len], at least one row.
  [[nodiscard]] std::size_t rows(std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets) const;

  /// Writes window `window` to row `row` of a batch [rows, seq_len]: its first seq_len tokens to `inputs`, its last
  /// seq_len tokens to `targets`, so that targets[t] is the token after inputs[t].
  void read(std::uint64_t window, std::size_t row, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) const;

 private:
  std::vector<Shard> shards_;
  std::uint64_t seq_len_;
  std::vector<std::uint64_t> first_;  // [shards + 1] number of the first window of each shard, then the total
};

}  // namespace octet
