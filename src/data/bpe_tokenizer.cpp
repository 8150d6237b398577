// From text to tokens: added tokens, normalisation, splitting, words.
#include "data/bpe_tokenizer.h"

#include <array>
#include <iterator>

#include "core/error.h"
#include "data/nfc.h"
#include "data/tokenizer_fingerprint.h"
#include "data/utf8.h"
#include "data/word_cache.h"
#include "io/text.h"

namespace octet {
namespace {

// What the families end documents with. The eos_token of a model for chats ends a turn instead.
constexpr std::array<std::string_view, 3> kEndsOfDocuments = {"<|endoftext|>", "<|end_of_text|>",
                                                              "<｜end▁of▁sentence｜>"};

std::vector<AddedToken> added_tokens(const TokenizerDefinition& definition, bool normalized) {
  std::vector<AddedToken> tokens;
  for (AddedToken token : definition.added) {
    if (token.normalized != normalized) continue;
    if (normalized && definition.nfc) token.content = to_nfc(token.content);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

/// Calls `between` for what lies between added tokens and appends the tokens themselves.
template <typename Between>
void split_at(const AddedTokenFinder& finder, std::string_view text, std::vector<std::int32_t>& tokens,
              Between&& between) {
  std::size_t at = 0;
  while (const auto found = finder.find(text, at)) {
    between(text.substr(at, found->begin - at));
    tokens.push_back(found->id);
    at = found->end;
  }
  between(text.substr(at));
}

}  // namespace

struct BpeTokenizer::State {
  explicit State(const PreSplit& stages) : split(stages) {}

  PreSplit::Scratch split;
  BpeModel::Scratch model;
  WordCache cache;
};

/// A state of the pool for the length of a call.
class BpeTokenizer::Lease {
 public:
  explicit Lease(const BpeTokenizer& tokenizer) : tokenizer_(tokenizer) {
    const std::lock_guard lock(tokenizer_.mutex_);
    if (!tokenizer_.idle_.empty()) {
      state_ = std::move(tokenizer_.idle_.back());
      tokenizer_.idle_.pop_back();
    } else {
      state_ = std::make_unique<State>(tokenizer_.split_);
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    const std::lock_guard lock(tokenizer_.mutex_);
    tokenizer_.idle_.push_back(std::move(state_));
  }
  [[nodiscard]] State& state() const { return *state_; }

 private:
  const BpeTokenizer& tokenizer_;
  std::unique_ptr<State> state_;
};

BpeTokenizer::BpeTokenizer(TokenizerDefinition definition)
    : definition_(std::move(definition)),
      model_(definition_),
      split_(definition_.stages),
      raw_added_(added_tokens(definition_, false)),
      normalized_added_(added_tokens(definition_, true)) {
  for (const AddedToken& token : definition_.added) added_ids_.emplace(token.content, token.id);
  if (definition_.bos) bos_ = named(*definition_.bos, "bos_token");
  if (definition_.eos) eos_ = named(*definition_.eos, "eos_token");
  if (!definition_.prefix.empty()) bos_ = definition_.prefix.front();
  for (const std::string_view name : kEndsOfDocuments) {
    if (!end_of_document_) end_of_document_ = special_token(name);
  }
  if (!end_of_document_) end_of_document_ = eos_;
  fingerprint_ = tokenizer_fingerprint(definition_);
}

BpeTokenizer::~BpeTokenizer() = default;

std::int32_t BpeTokenizer::named(const std::string& name, const char* what) const {
  const auto id = special_token(name);
  if (!id) {
    throw UserError("{}: tokenizer_config.json's {} \"{}\" is not among the added tokens: give it there or remove it",
                    definition_.name, what, printable(name));
  }
  return *id;
}

std::optional<std::int32_t> BpeTokenizer::special_token(std::string_view name) const {
  const auto found = added_ids_.find(name);
  if (found == added_ids_.end()) return {};
  return found->second;
}

void BpeTokenizer::encode(std::string_view text, std::vector<std::int32_t>& tokens) const {
  const Lease lease(*this);
  encode_raw(text, /*markup=*/false, lease.state(), tokens);
}

void BpeTokenizer::encode_markup(std::string_view text, std::vector<std::int32_t>& tokens) const {
  const Lease lease(*this);
  split_at(raw_added_, text, tokens,
           [&](std::string_view between) { encode_raw(between, /*markup=*/true, lease.state(), tokens); });
}

void BpeTokenizer::encode_raw(std::string_view text, bool markup, State& state,
                              std::vector<std::int32_t>& tokens) const {
  std::string normalized;
  if (definition_.nfc && !(valid_utf8_prefix(text) == text.size() && plainly_nfc(text))) {
    for_each_utf8_run(
        text, [&](std::string_view run) { normalized += to_nfc(run); },
        [&](std::string_view bytes) { normalized += bytes; });
    text = normalized;
  }
  if (!markup || normalized_added_.empty()) return encode_normalized(text, state, tokens);
  split_at(normalized_added_, text, tokens,
           [&](std::string_view between) { encode_normalized(between, state, tokens); });
}

void BpeTokenizer::encode_normalized(std::string_view text, State& state, std::vector<std::int32_t>& tokens) const {
  const auto word = [&](std::string_view bytes) { encode_word(bytes, state, tokens); };
  for_each_utf8_run(
      text, [&](std::string_view run) { split_.split(run, state.split, word); }, word);
}

void BpeTokenizer::encode_word(std::string_view word, State& state, std::vector<std::int32_t>& tokens) const {
  if (word.size() > WordCache::kLongestWord) return model_.encode(word, state.model, tokens);
  const std::uint64_t hash = WordCache::hash(word);
  if (const auto held = state.cache.find(word, hash)) {
    tokens.insert(tokens.end(), held->begin(), held->end());
    return;
  }
  const std::size_t before = tokens.size();
  model_.encode(word, state.model, tokens);
  state.cache.insert(word, hash, std::span(tokens).subspan(before));
}

std::string BpeTokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (const std::int32_t token : tokens) {
    const auto id = static_cast<std::size_t>(token);
    if (token < 0 || id >= definition_.pieces.size() || definition_.pieces[id].empty()) {
      throw UserError("token {} is not one of the tokenizer {}: use the tokenizer that made it", token,
                      definition_.name);
    }
    text += definition_.pieces[id];
  }
  return text;
}

}  // namespace octet
