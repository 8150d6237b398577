// Writes a token shard (format: shard.h).
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/shard_format.h"

namespace octet {

/// Where a shard's tokens come from.
struct ShardOrigin {
  std::uint64_t tokenizer = 0;               ///< fingerprint; 0: unknown
  std::optional<std::int32_t> document_end;  ///< the token that ends each document, in [0, vocab_size)
};

/// What a shard says of its tokens beside their ids.
struct ShardLayout {
  bool marked = false;           ///< tokens carry marks; the vocabulary is then at most 2^30
  std::uint32_t row_tokens = 0;  ///< of rows that belong together, at most kMaxRowTokens; 0: none
};

/// Writes to `path` + ".partial" and gives the file its name in finish(), so that a shard is whole or absent.
class ShardWriter {
 public:
  /// `vocab_size` in [1, 2^31] decides the bytes per token. Throws UserError when the file cannot be created.
  ShardWriter(std::filesystem::path path, std::uint64_t vocab_size, ShardOrigin origin = {}, ShardLayout layout = {});
  /// Removes what was written unless finish() has returned.
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  /// Appends tokens, each in [0, vocab_size). Throws UserError when the disk refuses them.
  void append(std::span<const std::int32_t> tokens);
  /// The same for a marked shard: a mark for each token.
  void append(std::span<const std::int32_t> tokens, std::span<const TokenMark> marks);

  /// Completes the file, replacing any other at `path`. At least one token must have been appended, and whole rows
  /// where there are rows.
  /// Throws UserError when the disk refuses.
  void finish();

  [[nodiscard]] std::uint64_t token_count() const { return token_count_; }
  /// XXH3-64 of the bytes of the tokens appended so far.
  [[nodiscard]] std::uint64_t token_checksum() const { return XXH3_64bits_digest(hash_.get()); }

 private:
  [[nodiscard]] std::uint32_t bytes_per_token() const;
  template <typename Token>
  void append_as(std::span<const std::int32_t> tokens, std::span<const TokenMark> marks);
  void write(const void* data, std::size_t size);
  [[noreturn]] void refuse(int error) const;

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct FreeHash {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::uint64_t vocab_size_;
  ShardOrigin origin_;
  ShardLayout layout_;
  std::uint64_t token_count_ = 0;
  std::vector<unsigned char> packed_;  // the tokens of one append() as they go to disk
  std::unique_ptr<XXH3_state_t, FreeHash> hash_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace octet
