// A tokenizer for tests: bytes, and one token more that ends documents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_tokenizer.h"

namespace octet::test {

class MarkedTokenizer final : public Tokenizer {
 public:
  static constexpr std::int32_t kEnd = 256;

  explicit MarkedTokenizer(std::uint64_t fingerprint = 77) : fingerprint_(fingerprint) {}
  void encode(std::string_view text, std::vector<std::int32_t>& tokens) const override { bytes_.encode(text, tokens); }
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t token : tokens) text += token == kEnd ? "|" : bytes_.decode(std::span(&token, 1));
    return text;
  }
  [[nodiscard]] std::uint64_t vocab_size() const override { return 257; }
  [[nodiscard]] std::string_view name() const override { return "marked"; }
  [[nodiscard]] std::optional<std::int32_t> end_of_document() const override { return kEnd; }
  [[nodiscard]] std::uint64_t fingerprint() const override { return fingerprint_; }

 private:
  ByteTokenizer bytes_;
  std::uint64_t fingerprint_;
};

}  // namespace octet::test
