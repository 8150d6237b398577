// Learns a byte-level BPE vocabulary from text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/pre_split.h"
#include "data/tokenizer_definition.h"

namespace octet {

struct BpeTrainerOptions {
  std::int64_t vocab_size = 32768;
  std::int64_t min_frequency = 2;           ///< a pair that is rarer is not merged
  std::string split = "llama3";             ///< a name of split_preset()
  std::vector<std::string> special_tokens;  ///< get the first ids
};

/// As Sennrich, Haddow and Birch (2016) have it, over bytes: of all pairs of neighbouring tokens within words the most
/// frequent one becomes a token, again and again. Ties go to the pair with the lower ids. The same texts give the same
/// vocabulary in whatever order they come, and the one that the tokenizers package's BpeTrainer gives for them.
class BpeTrainer {
 public:
  /// Throws UserError for a vocabulary that cannot hold the bytes and special tokens, or for a special token that is
  /// empty or occurs twice.
  explicit BpeTrainer(BpeTrainerOptions options);

  /// Counts the words of a text, any bytes.
  void add(std::string_view text);

  /// Tokens so far, and as many as there will be at most.
  using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

  /// The vocabulary; smaller than asked for where the text has no more pairs. Throws UserError where no text was added.
  [[nodiscard]] TokenizerDefinition train(const Progress& progress = {}) const;

  /// Different words so far.
  [[nodiscard]] std::size_t words() const { return counts_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const;
  };

  BpeTrainerOptions options_;
  bool nfc_;
  PreSplit split_;
  PreSplit::Scratch scratch_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> counts_;
};

}  // namespace octet
