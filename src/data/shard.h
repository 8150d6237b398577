// Token shards: files of token ids, mapped into memory and checked when opened.
//
// Format, version 2, little endian:
//
//   offset  bytes  field
//        0      8  magic "OCTETTOK"
//        8      4  version: 2, or 1, where bytes 40 to 55 are 0
//       12      4  bytes per token: 1, 2 or 4
//       16      8  vocabulary size: every token is below it; at most 2^31, and at most 256^(bytes per token)
//       24      8  token count
//       32      8  XXH3-64 of the token bytes
//       40      8  fingerprint of the tokenizer (tokenizer.h); 0: unknown
//       48      4  one more than the token that ends each document; 0: documents have no end
//       52      1  flags: 1 where the two highest bits of each token are marks: the highest that it is no target of the
//                  loss, the other that it begins a document; ids are then below 2^(8 bytes - 2)
//       53      3  tokens of a row: the shard consists of rows of so many tokens that belong together; 0: no rows
//       56      8  XXH3-64 of bytes 0 to 55
//       64      -  tokens: unsigned integers, nothing after the last
//
// Shards of llm.c are read as well (bin_shard.h): they know neither a tokenizer nor a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "data/shard_format.h"
#include "io/files.h"

namespace octet {

/// How much of a shard is read when it is opened.
enum class ShardScan {
  full,    ///< the header, every token against the vocabulary, and the checksum of the tokens (one pass each)
  header,  ///< the header only: for a shard that this process, or one that it trusts, has scanned before
};

class Shard {
 public:
  /// Opens a shard for a model of `model_vocab_size` tokens.
  /// Throws UserError when the file is missing, empty, truncated, too long, of another format or damaged, when its
  /// vocabulary exceeds the model's, or when a token lies outside its vocabulary (the message gives the position).
  Shard(std::filesystem::path path, std::uint64_t model_vocab_size, ShardScan scan = ShardScan::full);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::uint64_t token_count() const { return header_.token_count; }
  [[nodiscard]] std::uint64_t vocab_size() const { return header_.vocab_size; }
  [[nodiscard]] std::uint32_t bytes_per_token() const { return header_.bytes_per_token; }
  /// XXH3-64 of the token bytes, as the header has it; 0 of a .bin shard.
  [[nodiscard]] std::uint64_t token_checksum() const { return header_.token_checksum; }
  /// The fingerprint of the tokenizer that made it; 0: unknown.
  [[nodiscard]] std::uint64_t tokenizer() const { return header_.tokenizer; }
  /// The token that ends each document.
  [[nodiscard]] std::optional<std::int32_t> document_end() const {
    if (header_.document_end == 0) return {};
    return static_cast<std::int32_t>(header_.document_end - 1);
  }

  /// Whether its tokens carry marks: which ones are no targets, and which begin a document.
  [[nodiscard]] bool marked() const { return (header_.flags & kMarkedFlag) != 0; }
  /// Tokens of the rows that it was packed into; 0: none.
  [[nodiscard]] std::uint64_t row_tokens() const { return header_.flags >> kRowShift; }
  /// Whether it says where documents begin: by marks or by the token that ends each.
  [[nodiscard]] bool knows_documents() const { return marked() || header_.document_end != 0; }

  // What follows concerns the tokens [first, first + out.size()), which must lie inside the shard.

  /// Copies them as int32.
  void read(std::uint64_t first, std::span<std::int32_t> out) const;
  /// The same, with -1 for those that are marked as no targets.
  void read_targets(std::uint64_t first, std::span<std::int32_t> out) const;
  /// For each token the index in `out` of its document's first token: 0 where the document begins at `first` or before.
  void read_document_starts(std::uint64_t first, std::span<std::int32_t> out) const;

 private:
  template <typename Use>
  void with_range(std::uint64_t first, std::size_t count, Use use) const;
  [[nodiscard]] std::span<const std::byte> token_bytes() const { return file_.bytes().subspan(header_bytes_); }
  void scan_tokens() const;

  std::filesystem::path path_;
  MappedFile file_;
  std::size_t header_bytes_ = sizeof(ShardHeader);
  ShardHeader header_;
};

}  // namespace octet
