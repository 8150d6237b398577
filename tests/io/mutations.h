// Damage for parsers: deterministic edits of a valid input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace octet {

/// Edits texts; the same seed gives the same sequence on every platform.
class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  /// 0 to bound - 1.
  std::size_t below(std::size_t bound) { return random_() % bound; }

  /// One to four edits: a flipped bit, a new byte, a cut end, a removed, repeated or inserted piece, a changed digit.
  std::string mutate(std::string text, std::string_view tokens) {
    for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) edit(text, tokens);
    return text;
  }

 private:
  void edit(std::string& text, std::string_view tokens) {
    const std::size_t at = below(text.size());
    const std::size_t length = 1 + below(16);
    switch (below(7)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text.resize(at);
        break;
      case 3:
        text.erase(at, length);
        break;
      case 4:
        text.insert(at, text.substr(below(text.size()), length));
        break;
      case 5:
        text.insert(at, below(50) == 0 ? 1000 : length, tokens[below(tokens.size())]);
        break;
      default:
        change_digit(text, at);
    }
  }

  void change_digit(std::string& text, std::size_t from) {
    const std::size_t digit = text.find_first_of("0123456789", from);
    if (digit != std::string::npos) text[digit] = static_cast<char>('0' + below(10));
  }

  std::mt19937 random_;
};

}  // namespace octet
