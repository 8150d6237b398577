// Byte-level byte-pair encoding: text is normalised, split into words, and each word's bytes are merged into tokens.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/added_tokens.h"
#include "data/bpe_model.h"
#include "data/pre_split.h"
#include "data/tokenizer.h"
#include "data/tokenizer_definition.h"

namespace octet {

/// Threads may share one: each call works with a state of its own, taken from a pool.
///
/// Text may hold any bytes. What is not UTF-8 is not split or normalised: each run of such bytes is one word. Without a
/// normaliser, and with stages that remove and add nothing, decode(encode(text)) == text for all bytes.
class BpeTokenizer final : public Tokenizer {
 public:
  /// Throws UserError for a definition without all 256 bytes or with a pattern that is not understood.
  explicit BpeTokenizer(TokenizerDefinition definition);
  BpeTokenizer(const BpeTokenizer&) = delete;
  BpeTokenizer& operator=(const BpeTokenizer&) = delete;
  ~BpeTokenizer() override;

  void encode(std::string_view text, std::vector<std::int32_t>& tokens) const override;
  void encode_markup(std::string_view text, std::vector<std::int32_t>& tokens) const override;
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const override;
  [[nodiscard]] std::uint64_t vocab_size() const override { return definition_.pieces.size(); }
  [[nodiscard]] std::string_view name() const override { return definition_.name; }
  [[nodiscard]] std::optional<std::int32_t> special_token(std::string_view name) const override;
  [[nodiscard]] std::optional<std::int32_t> end_of_document() const override { return end_of_document_; }
  [[nodiscard]] std::uint64_t fingerprint() const override { return fingerprint_; }

  /// What begins a text: the first token of the file's template, else tokenizer_config.json's bos_token.
  [[nodiscard]] std::optional<std::int32_t> bos() const { return bos_; }
  /// What ends a model's turn: tokenizer_config.json's eos_token.
  [[nodiscard]] std::optional<std::int32_t> eos() const { return eos_; }
  [[nodiscard]] const TokenizerDefinition& definition() const { return definition_; }

 private:
  struct State;
  class Lease;

  void encode_raw(std::string_view text, bool markup, State& state, std::vector<std::int32_t>& tokens) const;
  void encode_normalized(std::string_view text, State& state, std::vector<std::int32_t>& tokens) const;
  void encode_word(std::string_view word, State& state, std::vector<std::int32_t>& tokens) const;
  [[nodiscard]] std::int32_t named(const std::string& name, const char* what) const;

  TokenizerDefinition definition_;
  BpeModel model_;
  PreSplit split_;
  AddedTokenFinder raw_added_, normalized_added_;
  std::unordered_map<std::string_view, std::int32_t> added_ids_;
  std::optional<std::int32_t> bos_, eos_, end_of_document_;
  std::uint64_t fingerprint_ = 0;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<State>> idle_;
};

}  // namespace octet
