// Writes the documents of one split into a row of token shards: train-00000.tok, train-00001.tok, ...
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/manifest.h"
#include "data/shard_writer.h"
#include "data/tokenizer.h"

namespace octet {

/// How far a split has come: what its whole shards hold, and where they end.
struct SplitProgress {
  ManifestSplit written;
  std::uint64_t next_piece = 0;  ///< the first piece of all inputs that is not in them

  bool operator==(const SplitProgress&) const = default;
};

/// A shard is closed with the piece that brings it to `shard_tokens` tokens or more, once there are enough tokens for
/// another, min(shard_tokens, 2^20): what would remain for a last shard of fewer is put into the one before.
class SplitWriter {
 public:
  /// Goes on after `progress`.
  SplitWriter(std::filesystem::path folder, DataSplit split, const Tokenizer& tokenizer, std::uint64_t shard_tokens,
              SplitProgress progress);

  /// Adds the tokens of the piece with that number, maybe none. Pieces come in ascending order. Says whether a shard
  /// was finished, so that progress() has changed. Throws UserError when the disk refuses.
  bool append(std::span<const std::int32_t> tokens, const SplitCounts& counts, std::uint64_t piece);

  /// Closes the last shard; progress() is then of everything.
  void finish();

  [[nodiscard]] const SplitProgress& progress() const { return progress_; }

 private:
  /// Of everything up to a piece.
  struct Place {
    SplitCounts counts;
    std::uint64_t next_piece = 0;
  };

  void write(std::span<const std::int32_t> tokens);
  void finish_shard();

  std::filesystem::path folder_;
  DataSplit split_;
  std::uint64_t vocab_size_;
  ShardOrigin origin_;
  std::uint64_t shard_tokens_;
  SplitProgress progress_;
  Place now_;
  Place shard_end_;                    // of what is in the open shard
  std::string name_;                   // of the open shard
  std::optional<ShardWriter> shard_;   // none until it has tokens
  std::vector<std::int32_t> pending_;  // behind a full shard
};

}  // namespace octet
