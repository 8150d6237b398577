// What every tokenizer does: text to token ids and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Appends the tokens of `text` to `tokens`, each in [0, vocab_size()).
  virtual void encode(std::string_view text, std::vector<std::int32_t>& tokens) const = 0;

  /// The text of `tokens`. Throws UserError for a token outside the vocabulary.
  [[nodiscard]] virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;

  [[nodiscard]] virtual std::uint64_t vocab_size() const = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
};

}  // namespace octet
