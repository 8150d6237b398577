// Feeds a definition to XXH3, field by field, with every length before its bytes.
#include "data/tokenizer_fingerprint.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string_view>

#include "data/flat_map.h"

namespace octet {
namespace {

class Hash {
 public:
  Hash() : state_(XXH3_createState(), &XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }

  /// Little-endian, so that every machine finds the same number.
  void number(std::uint64_t value) {
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
    XXH3_64bits_update(state_.get(), bytes, sizeof bytes);
  }

  void text(std::string_view bytes) {
    number(bytes.size());
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }

  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

}  // namespace

std::uint64_t tokenizer_fingerprint(const TokenizerDefinition& definition) {
  Hash hash;
  hash.number(definition.pieces.size());
  for (const std::string& piece : definition.pieces) hash.text(piece);
  hash.number(definition.merges.size());
  for (const BpeMerge& merge : definition.merges) {
    hash.number(pair_key(merge.left, merge.right));
    hash.number(pair_key(merge.rank, merge.merged));
  }
  hash.number(definition.whole_words ? 1 : 0);
  hash.number(definition.nfc ? 1 : 0);
  hash.number(definition.stages.size());
  for (const SplitStage& stage : definition.stages) {
    hash.text(stage.pattern);
    hash.number(static_cast<std::uint64_t>(stage.behavior));
    hash.number(stage.invert ? 1 : 0);
  }
  hash.number(definition.added.size());
  for (const AddedToken& token : definition.added) {
    hash.number(static_cast<std::uint64_t>(token.id));
    hash.text(token.content);
    hash.number((token.lstrip ? 1U : 0U) | (token.rstrip ? 2U : 0U) | (token.normalized ? 4U : 0U) |
                (token.special ? 8U : 0U));
  }
  return std::max<std::uint64_t>(hash.value(), 1);
}

}  // namespace octet
