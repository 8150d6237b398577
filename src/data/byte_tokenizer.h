// The byte tokenizer: every byte is a token, the vocabulary is 256, any text survives the round trip.
#pragma once

#include "data/tokenizer.h"

namespace octet {

class ByteTokenizer final : public Tokenizer {
 public:
  void encode(std::string_view text, std::vector<std::int32_t>& tokens) const override;
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const override;
  [[nodiscard]] std::uint64_t vocab_size() const override { return 256; }
  [[nodiscard]] std::string_view name() const override { return "bytes"; }
  [[nodiscard]] std::uint64_t fingerprint() const override { return 256; }  // of a definition that has no text
};

}  // namespace octet
