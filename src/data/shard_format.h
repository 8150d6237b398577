// The header of a token shard, as bytes on disk. The whole format is described in shard.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace octet {

inline constexpr std::string_view kShardMagic = "OCTETTOK";
inline constexpr std::uint32_t kShardVersion = 2;

/// Token ids are handed out as int32.
inline constexpr std::uint64_t kMaxVocabSize = std::uint64_t{1} << 31;

struct ShardHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t bytes_per_token;
  std::uint64_t vocab_size;
  std::uint64_t token_count;
  std::uint64_t token_checksum;
  std::uint64_t tokenizer;     // its fingerprint; 0: unknown
  std::uint32_t document_end;  // one more than the token that ends a document; 0: none does
  std::uint32_t flags;         // kMarkedFlag; from bit kRowShift on the tokens of a row, 0: no rows
  std::uint64_t header_checksum;
};
static_assert(sizeof(ShardHeader) == 64, "the header is 64 bytes, so that tokens start on a cache line");
static_assert(std::has_unique_object_representations_v<ShardHeader>, "no padding reaches the disk");

/// The two highest bits of each token are its TokenMarks.
inline constexpr std::uint32_t kMarkedFlag = 1;
inline constexpr unsigned kMarkBits = 2;
inline constexpr unsigned kRowShift = 8;
inline constexpr std::uint32_t kMaxRowTokens = (std::uint32_t{1} << (32 - kRowShift)) - 1;

/// What a marked shard says of a token, as bits that can be combined.
enum class TokenMark : std::uint8_t {
  none = 0,
  begins_document = 1,
  no_target = 2,  ///< nothing is learned from predicting it
};

[[nodiscard]] constexpr TokenMark operator|(TokenMark a, TokenMark b) {
  return static_cast<TokenMark>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// The fewest bytes (1, 2 or 4) that hold every id below `vocab_size`.
[[nodiscard]] constexpr std::uint32_t bytes_per_token_for(std::uint64_t vocab_size) {
  if (vocab_size <= (1U << 8)) return 1;
  return vocab_size <= (1U << 16) ? 2 : 4;
}

/// The same with room for the marks beside the id; `vocab_size` is at most 2^30.
[[nodiscard]] constexpr std::uint32_t bytes_per_marked_token_for(std::uint64_t vocab_size) {
  return bytes_per_token_for(vocab_size << kMarkBits);
}

/// XXH3-64 of all header bytes before `header_checksum`.
[[nodiscard]] std::uint64_t checksum_of(const ShardHeader& header);

/// XXH3-64 of the token bytes as they lie on disk.
[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> token_bytes);

}  // namespace octet
