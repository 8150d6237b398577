// Byte-level byte-pair encoding of one word.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/flat_map.h"
#include "data/tokenizer_definition.h"

namespace octet {

/// The merges of a vocabulary, made quick to look up. Const after construction: threads share it, each with a Scratch
/// of its own.
class BpeModel {
 public:
  /// Keeps views of `definition`'s pieces, which must outlive it. Throws UserError where a byte has no token.
  explicit BpeModel(const TokenizerDefinition& definition);

  class Scratch {
    friend class BpeModel;
    struct Symbol {
      std::int32_t id;
      std::uint32_t previous, next;
    };
    struct Candidate {
      std::int32_t rank;
      std::uint32_t at;
      std::int32_t merged;
      bool operator<(const Candidate& other) const {  // the top of std's heaps is the greatest
        return rank != other.rank ? rank > other.rank : at > other.at;
      }
    };
    std::vector<Symbol> symbols_;
    std::vector<Candidate> heap_;
  };

  /// Appends the tokens of `word`, any bytes, below 4 GiB. Takes O(n log n) for n bytes.
  void encode(std::string_view word, Scratch& scratch, std::vector<std::int32_t>& tokens) const;

 private:
  struct Merge {
    std::int32_t rank, merged;
  };

  void encode_short(std::string_view word, std::vector<std::int32_t>& tokens) const;
  void encode_long(std::string_view word, Scratch& scratch, std::vector<std::int32_t>& tokens) const;
  void push(std::uint32_t at, Scratch& scratch) const;

  std::array<std::int32_t, 256> byte_token_{};
  FlatMap<Merge> merges_;
  std::unordered_map<std::string_view, std::int32_t> words_;  // empty unless whole words are looked up
};

}  // namespace octet
