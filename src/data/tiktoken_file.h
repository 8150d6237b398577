// tiktoken's files: a line for each token, its bytes in base64 and its rank.
#pragma once

#include <string>
#include <string_view>

#include "data/split_presets.h"
#include "data/tokenizer_definition.h"

namespace octet {

/// The ranks of a file, with the splitting and the special tokens of `encoding`, which the file does not hold. Ranks
/// are the ids; they count from 0 without a gap, in any order. Two tokens merge where their bytes together are a token,
/// whose rank is the merge's. Throws UserError for damage; `file` is the name in messages.
[[nodiscard]] TokenizerDefinition parse_tiktoken(std::string_view text, const std::string& file,
                                                 const TiktokenEncoding& encoding);

}  // namespace octet
