// Text of tokens as they come, one by one.
#pragma once

#include <cstdint>
#include <string>

#include "data/tokenizer.h"

namespace octet {

/// A token may end within a character: its bytes are held back until the rest has come, so that what is shown is never
/// torn. All that push() and finish() return, together, is what Tokenizer::decode() gives for the same tokens.
class StreamDecoder {
 public:
  /// `tokenizer` outlives the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// What can be shown after `token`; may be empty. Throws UserError for a token outside the vocabulary.
  [[nodiscard]] std::string push(std::int32_t token);

  /// What is still held back, at the end of a text: the beginning of a character that never came, or nothing.
  [[nodiscard]] std::string finish();

 private:
  const Tokenizer& tokenizer_;
  std::string held_;
};

}  // namespace octet
