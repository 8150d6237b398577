// An open-addressing table of words over two arrays that only grow until the table starts anew.
#include "data/word_cache.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace octet {
namespace {

constexpr std::size_t kMaxWords = std::size_t{1} << 16;
constexpr std::size_t kSlots = 2 * kMaxWords;

}  // namespace

WordCache::WordCache() : slots_(kSlots) {}

std::uint64_t WordCache::hash(std::string_view word) {
  return XXH3_64bits(word.data(), word.size());
}

std::size_t WordCache::place(std::string_view word, std::uint64_t hash) const {
  const auto short_hash = static_cast<std::uint32_t>(hash >> 32);
  std::size_t at = hash & (kSlots - 1);
  for (;; at = (at + 1) & (kSlots - 1)) {
    const Slot& slot = slots_[at];
    if (slot.length == 0) return at;
    if (slot.hash == short_hash && slot.length == word.size() &&
        std::memcmp(words_.data() + slot.word, word.data(), word.size()) == 0) {
      return at;
    }
  }
}

std::optional<std::span<const std::int32_t>> WordCache::find(std::string_view word, std::uint64_t hash) const {
  const Slot& slot = slots_[place(word, hash)];
  if (slot.length == 0) return {};
  return std::span(tokens_).subspan(slot.tokens, slot.count);
}

void WordCache::insert(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> tokens) {
  if (size_ == kMaxWords) {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    words_.clear();
    tokens_.clear();
    size_ = 0;
  }
  slots_[place(word, hash)] = {static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(words_.size()),
                               static_cast<std::uint32_t>(tokens_.size()), static_cast<std::uint8_t>(word.size()),
                               static_cast<std::uint8_t>(tokens.size())};
  words_.append(word);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  ++size_;
}

}  // namespace octet
