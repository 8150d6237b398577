// What decides which tokens a text becomes: the same structure, whatever file it was read from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/pre_split.h"

namespace octet {

/// Two tokens that stand side by side become one. Of all that apply the lowest rank goes first, of equal ones the
/// leftmost.
struct BpeMerge {
  std::int32_t left, right, merged;
  std::int32_t rank;
};

/// A token beside the vocabulary that merges make: a name that is looked for in the text itself.
struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool lstrip = false, rstrip = false;  ///< takes the white space before, after it along
  bool normalized = false;              ///< is looked for after the text was normalised
  bool special = false;
};

struct TokenizerDefinition {
  std::string name;                 ///< as the user named it
  std::vector<std::string> pieces;  ///< [vocab_size] the bytes of each token; empty: no token has this id
  std::vector<BpeMerge> merges;
  bool whole_words = false;  ///< a word that is a token is that token, whatever merges would make of it
  bool nfc = false;          ///< text is brought into Normalization Form C first
  std::vector<SplitStage> stages;
  std::vector<AddedToken> added;             ///< their contents are in `pieces` too
  std::vector<std::int32_t> prefix, suffix;  ///< what the file's template puts around a text
  std::optional<std::string> bos, eos;       ///< names that tokenizer_config.json gives
};

/// Ids stay below this: a table of all ids must not be a means to exhaust memory.
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 22;

}  // namespace octet
