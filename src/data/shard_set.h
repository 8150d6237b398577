// The shards that a user names for training: files, manifests, folders, patterns; and whether they belong together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/manifest.h"
#include "data/shard.h"

namespace octet {

/// Opens, in the order given, what `names` mean: a shard; a manifest (named .json), or a folder with a manifest.json,
/// for the shards of its `split`; a folder without one for its .tok and .bin files, sorted by name; a shell's pattern
/// for the files that match, sorted. `key` is where the names were given, for messages.
/// Throws UserError for what is missing or damaged (shard.h, manifest.h), for a folder, pattern or split without
/// shards, and for a shard that is not the one that its manifest knows.
[[nodiscard]] std::vector<Shard> open_shards(std::span<const std::string> names, DataSplit split,
                                             std::uint64_t model_vocab_size, const std::string& key,
                                             ShardScan scan = ShardScan::full);

/// The fingerprint that all shards share, 0 where none knows its tokenizer. Shards that do not know theirs must have
/// the vocabulary of the others. `tokenizer`, unless empty, is what open_tokenizer() opens: all must be of it. Throws
/// UserError that names two shards of different tokenizers, or a shard and the tokenizer.
[[nodiscard]] std::uint64_t common_tokenizer(std::span<const Shard> shards, const std::string& tokenizer);

}  // namespace octet
