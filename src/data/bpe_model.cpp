// Merging within a word: by repeated search for the best pair where the word is short, else with a heap of pairs over a
// linked list of symbols.
#include "data/bpe_model.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace octet {
namespace {

constexpr std::size_t kShort = 48;  // bytes up to which searching beats the heap
constexpr std::int32_t kNoMerge = std::numeric_limits<std::int32_t>::max();
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

}  // namespace

BpeModel::BpeModel(const TokenizerDefinition& definition) : merges_(definition.merges.size()) {
  std::vector<bool> added(definition.pieces.size());
  for (const AddedToken& token : definition.added) added[static_cast<std::size_t>(token.id)] = true;

  byte_token_.fill(-1);
  for (std::size_t id = 0; id < definition.pieces.size(); ++id) {
    const std::string& piece = definition.pieces[id];
    if (piece.empty() || added[id]) continue;
    if (piece.size() == 1) byte_token_[static_cast<unsigned char>(piece[0])] = static_cast<std::int32_t>(id);
    if (definition.whole_words) words_.emplace(piece, static_cast<std::int32_t>(id));
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    if (byte_token_[byte] < 0) {
      throw UserError("{}: no token is the byte 0x{:02x}: a byte-level vocabulary has all 256", definition.name, byte);
    }
  }
  for (const BpeMerge& merge : definition.merges) {
    merges_[pair_key(merge.left, merge.right)] = {merge.rank, merge.merged};
  }
}

void BpeModel::encode(std::string_view word, Scratch& scratch, std::vector<std::int32_t>& tokens) const {
  if (!words_.empty()) {
    const auto whole = words_.find(word);
    if (whole != words_.end()) return tokens.push_back(whole->second);
  }
  if (word.size() <= kShort) return encode_short(word, tokens);
  encode_long(word, scratch, tokens);
}

void BpeModel::encode_short(std::string_view word, std::vector<std::int32_t>& tokens) const {
  std::array<std::int32_t, kShort> ids;
  std::array<Merge, kShort> pairs;  // of each symbol with the next
  std::size_t count = word.size();
  const auto look_up = [&](std::size_t i) {
    const Merge* merge = i + 1 < count ? merges_.find(pair_key(ids[i], ids[i + 1])) : nullptr;
    pairs[i] = merge != nullptr ? *merge : Merge{kNoMerge, 0};
  };
  for (std::size_t i = 0; i < count; ++i) ids[i] = byte_token_[static_cast<unsigned char>(word[i])];
  for (std::size_t i = 0; i < count; ++i) look_up(i);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < count; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == kNoMerge) break;
    ids[best] = pairs[best].merged;
    std::copy(ids.begin() + best + 2, ids.begin() + count, ids.begin() + best + 1);
    std::copy(pairs.begin() + best + 2, pairs.begin() + count, pairs.begin() + best + 1);
    --count;
    look_up(best);
    if (best > 0) look_up(best - 1);
  }
  tokens.insert(tokens.end(), ids.begin(), ids.begin() + count);
}

void BpeModel::push(std::uint32_t at, Scratch& scratch) const {
  const Scratch::Symbol& symbol = scratch.symbols_[at];
  if (symbol.next == kNone) return;
  const Merge* merge = merges_.find(pair_key(symbol.id, scratch.symbols_[symbol.next].id));
  if (merge == nullptr) return;
  scratch.heap_.push_back({merge->rank, at, merge->merged});
  std::push_heap(scratch.heap_.begin(), scratch.heap_.end());
}

void BpeModel::encode_long(std::string_view word, Scratch& scratch, std::vector<std::int32_t>& tokens) const {
  check(word.size() < kNone, "a word has fewer than 2^32 bytes");
  auto& [symbols, heap] = scratch;
  const auto count = static_cast<std::uint32_t>(word.size());
  symbols.resize(count);
  heap.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    symbols[i] = {byte_token_[static_cast<unsigned char>(word[i])], i == 0 ? kNone : i - 1,
                  i + 1 == count ? kNone : i + 1};
  }
  for (std::uint32_t i = 0; i < count; ++i) push(i, scratch);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Scratch::Candidate best = heap.back();
    heap.pop_back();
    Scratch::Symbol& left = symbols[best.at];
    if (left.id < 0 || left.next == kNone) continue;  // merged away since, or with the last
    Scratch::Symbol& right = symbols[left.next];
    const Merge* merge = merges_.find(pair_key(left.id, right.id));
    if (merge == nullptr || merge->merged != best.merged) continue;  // one of the two has grown since
    left.id = best.merged;
    right.id = -1;
    left.next = right.next;
    if (left.next != kNone) symbols[left.next].previous = best.at;
    push(best.at, scratch);
    if (left.previous != kNone) push(left.previous, scratch);
  }
  for (std::uint32_t i = 0; i != kNone; i = symbols[i].next) tokens.push_back(symbols[i].id);
}

}  // namespace octet
