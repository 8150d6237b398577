// What every tokenizer does: text to token ids and back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Appends the tokens of `text` to `tokens`, each in [0, vocab_size()). The names of special tokens are text like any
  /// other: what users wrote cannot end a document or begin a turn.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& tokens) const = 0;

  /// The same, but the names of added tokens, "<|im_start|>", become those tokens: for text that a program wrote.
  virtual void encode_markup(std::string_view text, std::vector<std::int32_t>& tokens) const { encode(text, tokens); }

  /// The text of `tokens`. Throws UserError for a token outside the vocabulary.
  [[nodiscard]] virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;

  [[nodiscard]] virtual std::uint64_t vocab_size() const = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// The special token of that name, "<|end_of_text|>".
  [[nodiscard]] virtual std::optional<std::int32_t> special_token(std::string_view /*name*/) const { return {}; }
  /// What is put after each document.
  [[nodiscard]] virtual std::optional<std::int32_t> end_of_document() const { return {}; }
  /// XXH3-64 of everything that decides which tokens a text becomes; never 0.
  [[nodiscard]] virtual std::uint64_t fingerprint() const = 0;
};

}  // namespace octet
