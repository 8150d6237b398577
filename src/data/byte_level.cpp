// GPT-2's alphabet for bytes: the printable ones of Latin-1 stand for themselves, the others, in order, are U+0100 on.
#include "data/byte_level.h"

#include <array>
#include <cstdint>

namespace octet {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::size_t kOthers = 68;

struct Alphabet {
  std::array<std::uint16_t, 256> code_point{};
  std::array<std::uint8_t, 256 + kOthers> byte{};
  std::array<bool, 256 + kOthers> known{};
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const unsigned code_point = stands_for_itself(byte) ? byte : next++;
    alphabet.code_point[byte] = static_cast<std::uint16_t>(code_point);
    alphabet.byte[code_point] = static_cast<std::uint8_t>(byte);
    alphabet.known[code_point] = true;
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string to_byte_level(std::string_view bytes) {
  std::string characters;
  characters.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const unsigned code_point = kAlphabet.code_point[static_cast<unsigned char>(c)];
    if (code_point >= 0x80) characters.push_back(static_cast<char>(0xC0U | (code_point >> 6)));
    characters.push_back(static_cast<char>(code_point < 0x80 ? code_point : 0x80U | (code_point & 0x3FU)));
  }
  return characters;
}

std::optional<std::string> from_byte_level(std::string_view characters) {
  std::string bytes;
  bytes.reserve(characters.size());
  for (std::size_t i = 0; i < characters.size(); ++i) {
    unsigned code_point = static_cast<unsigned char>(characters[i]);
    if (code_point >= 0x80) {  // of the alphabet none takes more than two bytes
      if ((code_point & 0xE0U) != 0xC0U || ++i == characters.size()) return {};
      code_point = (code_point & 0x1FU) << 6 | (static_cast<unsigned char>(characters[i]) & 0x3FU);
    }
    if (code_point >= kAlphabet.known.size() || !kAlphabet.known[code_point]) return {};
    bytes.push_back(static_cast<char>(kAlphabet.byte[code_point]));
  }
  return bytes;
}

}  // namespace octet
