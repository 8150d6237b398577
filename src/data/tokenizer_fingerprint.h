// One number for a tokenizer, by which token shards know what made them.
#pragma once

#include <cstdint>

#include "data/tokenizer_definition.h"

namespace octet {

/// XXH3-64 of pieces, merges, stages, normaliser and added tokens: of all that decides which tokens a text becomes, and
/// of neither its name nor what is put around a text. Never 0.
[[nodiscard]] std::uint64_t tokenizer_fingerprint(const TokenizerDefinition& definition);

}  // namespace octet
