// Counts of pairs are kept up to date merge by merge, and a heap of them gives the next. An entry of the heap may be
// out of date; it is put right when it comes up.
#include "data/bpe_trainer.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <queue>
#include <unordered_set>

#include "core/error.h"
#include "data/byte_level.h"
#include "data/flat_map.h"
#include "data/nfc.h"
#include "data/split_presets.h"
#include "data/utf8.h"
#include "io/text.h"

namespace octet {
namespace {

/// The bytes in the order of their characters in ByteLevel's alphabet, which is the order of their ids.
std::array<char, 256> alphabet() {
  std::array<char, 256> bytes;
  std::iota(bytes.begin(), bytes.end(), static_cast<char>(0));
  std::sort(bytes.begin(), bytes.end(), [](char a, char b) {
    return to_byte_level({&a, 1}) < to_byte_level({&b, 1});  // UTF-8 sorts as its code points do
  });
  return bytes;
}

class Training {
 public:
  Training(const BpeTrainerOptions& options, TokenizerDefinition definition)
      : options_(options), definition_(std::move(definition)) {
    for (const std::string& name : options.special_tokens) {
      AddedToken token;
      token.id = add_piece(name);
      token.content = name;
      token.special = true;
      names_.insert(name);
      definition_.added.push_back(std::move(token));
    }
    for (const char byte : alphabet()) {
      byte_token_[static_cast<unsigned char>(byte)] = add_piece(std::string(1, byte));
    }
  }

  void add_word(std::string_view word, std::int64_t count) {
    const auto index = static_cast<std::uint32_t>(words_.size());
    words_.push_back({symbols_.size(), word.size(), count});
    for (const char c : word) symbols_.push_back(byte_token_[static_cast<unsigned char>(c)]);
    const std::int32_t* symbols = symbols_.data() + words_.back().begin;
    for (std::size_t i = 0; i + 1 < word.size(); ++i) count_pair(pair_key(symbols[i], symbols[i + 1]), count, index);
  }

  TokenizerDefinition run(const BpeTrainer::Progress& progress) {
    queue_touched();
    const auto size = [&] { return static_cast<std::int64_t>(definition_.pieces.size()); };
    while (size() < options_.vocab_size && !queue_.empty()) {
      Entry best = queue_.top();
      queue_.pop();
      const std::int64_t count = pairs_[best.pair].count;
      if (best.count != count) {
        best.count = count;
        queue_.push(best);
        continue;
      }
      if (count < std::max<std::int64_t>(options_.min_frequency, 1)) break;
      merge(best);
      queue_touched();
      if (progress) progress(size(), options_.vocab_size);
    }
    keep_last_merges();
    return std::move(definition_);
  }

 private:
  struct Word {
    std::size_t begin, length;  // its symbols
    std::int64_t count;
  };
  struct Pair {
    std::int64_t count = 0;
    std::uint32_t list = 0;  // 1 + index of the words in which it grew since it was last queued; 0: none
  };
  struct Entry {
    std::int64_t count;
    std::uint64_t pair;
    std::uint32_t list;
    bool operator<(const Entry& other) const {  // the top of the queue is the greatest
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  std::int32_t add_piece(const std::string& piece) {
    const auto id = static_cast<std::int32_t>(definition_.pieces.size());
    definition_.pieces.push_back(piece);
    return id;
  }

  /// A pair grew in a word.
  void count_pair(std::uint64_t key, std::int64_t count, std::uint32_t word) {
    Pair& pair = pairs_[key];
    pair.count += count;
    if (pair.list == 0) {
      lists_.emplace_back();
      pair.list = static_cast<std::uint32_t>(lists_.size());
      touched_.push_back(key);
    }
    std::vector<std::uint32_t>& list = lists_[pair.list - 1];
    if (list.empty() || list.back() != word) list.push_back(word);
  }

  void queue_touched() {
    for (const std::uint64_t key : touched_) {
      Pair& pair = pairs_[key];
      if (pair.count > 0) queue_.push({pair.count, key, pair.list});
      pair.list = 0;
    }
    touched_.clear();
  }

  void merge(const Entry& best) {
    const auto left = static_cast<std::int32_t>(best.pair >> 32);
    const auto right = static_cast<std::int32_t>(best.pair & 0xFFFFFFFFU);
    const std::string piece =
        definition_.pieces[static_cast<std::size_t>(left)] + definition_.pieces[static_cast<std::size_t>(right)];
    if (names_.contains(to_byte_level(piece))) return;  // text must not merge into a special token
    // Two ways may lead to the same bytes, which are one token all the same.
    const auto [known, fresh] = merged_ids_.emplace(piece, static_cast<std::int32_t>(definition_.pieces.size()));
    if (fresh) add_piece(piece);
    const std::int32_t merged = known->second;
    definition_.merges.push_back({left, right, merged, static_cast<std::int32_t>(definition_.merges.size())});

    std::vector<std::uint32_t> words = std::exchange(lists_[best.list - 1], {});
    for (const std::uint32_t word : words) merge_in(word, left, right, merged);
  }

  void merge_in(std::uint32_t index, std::int32_t left, std::int32_t right, std::int32_t merged) {
    Word& word = words_[index];
    std::int32_t* symbols = symbols_.data() + word.begin;
    std::size_t out = 0;
    for (std::size_t i = 0; i < word.length; ++i, ++out) {
      if (symbols[i] != left || i + 1 == word.length || symbols[i + 1] != right) {
        symbols[out] = symbols[i];
        continue;
      }
      if (out > 0) {
        pairs_[pair_key(symbols[out - 1], left)].count -= word.count;
        count_pair(pair_key(symbols[out - 1], merged), word.count, index);
      }
      if (++i + 1 < word.length) {
        pairs_[pair_key(right, symbols[i + 1])].count -= word.count;
        count_pair(pair_key(merged, symbols[i + 1]), word.count, index);
      }
      symbols[out] = merged;
    }
    word.length = out;
  }

  /// A pair that came up again, after its halves came together anew, counts where it came up last.
  void keep_last_merges() {
    FlatMap<bool> seen(definition_.merges.size());
    std::vector<BpeMerge> kept;
    for (auto merge = definition_.merges.rbegin(); merge != definition_.merges.rend(); ++merge) {
      if (!std::exchange(seen[pair_key(merge->left, merge->right)], true)) kept.push_back(*merge);
    }
    std::reverse(kept.begin(), kept.end());
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i].rank = static_cast<std::int32_t>(i);
    definition_.merges = std::move(kept);
  }

  const BpeTrainerOptions& options_;
  TokenizerDefinition definition_;
  std::array<std::int32_t, 256> byte_token_{};
  std::unordered_set<std::string> names_;  // of special tokens
  std::unordered_map<std::string, std::int32_t> merged_ids_;
  std::vector<std::int32_t> symbols_;
  std::vector<Word> words_;
  FlatMap<Pair> pairs_;
  std::vector<std::vector<std::uint32_t>> lists_;
  std::vector<std::uint64_t> touched_;
  std::priority_queue<Entry> queue_;
};

void check_options(const BpeTrainerOptions& options) {
  const auto fewest = static_cast<std::int64_t>(256 + options.special_tokens.size());
  if (options.vocab_size < fewest || options.vocab_size > kMaxTokens) {
    throw UserError("a vocabulary of {} tokens: must be from {}, the bytes and special tokens, to {}",
                    options.vocab_size, fewest, kMaxTokens);
  }
  std::vector<std::string> names = options.special_tokens;
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw UserError("the special token \"{}\" is given twice", printable(*twice));
  for (const std::string& name : names) {
    const std::optional<std::string> bytes = from_byte_level(name);
    if (name.empty() || valid_utf8_prefix(name) != name.size() || (bytes && bytes->size() == 1)) {
      throw UserError("the special token \"{}\" is no name of two characters or more in UTF-8", printable(name));
    }
  }
}

}  // namespace

std::size_t BpeTrainer::Hash::operator()(std::string_view word) const {
  return XXH3_64bits(word.data(), word.size());
}

BpeTrainer::BpeTrainer(BpeTrainerOptions options)
    : options_(std::move(options)),
      nfc_(split_preset(options_.split).nfc),
      split_(split_preset(options_.split).stages),
      scratch_(split_) {
  check_options(options_);
}

void BpeTrainer::add(std::string_view text) {
  const auto word = [&](std::string_view bytes) {
    const auto found = counts_.find(bytes);
    if (found != counts_.end()) {
      ++found->second;
    } else {
      counts_.emplace(bytes, 1);
    }
  };
  const auto run = [&](std::string_view valid) {
    if (nfc_ && !plainly_nfc(valid)) return split_.split(to_nfc(valid), scratch_, word);
    split_.split(valid, scratch_, word);
  };
  for_each_utf8_run(text, run, word);
}

TokenizerDefinition BpeTrainer::train(const Progress& progress) const {
  if (counts_.empty()) throw UserError("there is no text to train a tokenizer on");
  TokenizerDefinition definition;
  definition.name = "trained";
  definition.stages = split_preset(options_.split).stages;
  definition.nfc = nfc_;
  Training training(options_, std::move(definition));
  for (const auto& [word, count] : counts_) training.add_word(word, count);
  return training.run(progress);
}

}  // namespace octet
