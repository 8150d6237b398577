// The tokens of words met before. Text repeats its words, and a look-up is cheaper than merging again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Holds at most 64 Ki words of at most 64 bytes; when it is full it starts anew. Not for several threads at once.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 64;

  WordCache();

  /// XXH3-64 of a word: what find() and insert() take, so that it is computed once.
  [[nodiscard]] static std::uint64_t hash(std::string_view word);

  /// The tokens of `word`, valid until the next insert(); nothing where it is not held.
  [[nodiscard]] std::optional<std::span<const std::int32_t>> find(std::string_view word, std::uint64_t hash) const;

  /// Keeps the tokens of a word that find() did not find, of at most kLongestWord bytes.
  void insert(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> tokens);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t word = 0;    // where its bytes begin
    std::uint32_t tokens = 0;  // where its tokens begin
    std::uint8_t length = 0;   // in bytes; 0: free
    std::uint8_t count = 0;    // of tokens, at most one a byte
  };

  [[nodiscard]] std::size_t place(std::string_view word, std::uint64_t hash) const;

  std::vector<Slot> slots_;
  std::string words_;
  std::vector<std::int32_t> tokens_;
  std::size_t size_ = 0;
};

}  // namespace octet
