// Checksums of token shards.
#include "data/shard_format.h"

#include <xxhash.h>

#include <bit>

namespace octet {

static_assert(std::endian::native == std::endian::little, "shards are little endian and read in place");

std::uint64_t checksum_of(const ShardHeader& header) {
  return XXH3_64bits(&header, offsetof(ShardHeader, header_checksum));
}

std::uint64_t checksum_of(std::span<const std::byte> token_bytes) {
  return XXH3_64bits(token_bytes.data(), token_bytes.size());
}

}  // namespace octet
