// Token shards of llm.c and of what took its format over, modded-nanogpt among them: files named .bin.
//
// A header of 256 little-endian int32 (magic, version, number of tokens, then zeros), then the tokens; nothing follows
// the last. The magic says whose tokens they are:
//
//   magic     version  tokens  of       vocabulary  between documents
//   20240520        1  uint16  GPT-2         50257  50256, <|endoftext|>
//   20240801        7  uint32  Llama 3      128256  128000, <|begin_of_text|>
//
// The token between documents stands before each of them; as the end of the one before, it separates them just as well.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "data/shard_format.h"

namespace octet {

inline constexpr std::size_t kBinHeaderBytes = 1024;

/// What `file` says of itself, in the fields of our own header, or nothing where it begins with neither magic. It has
/// no checksums: those fields stay 0. `path` is for messages. Throws UserError where the header is cut short, of
/// another version, or holds what no writer puts there.
[[nodiscard]] std::optional<ShardHeader> read_bin_header(std::span<const std::byte> file, const std::string& path);

}  // namespace octet
