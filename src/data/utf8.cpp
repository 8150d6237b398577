// UTF-8 as the Unicode Standard's table 3-7 (well-formed byte sequences) has it.
#include "data/utf8.h"

#include <cstring>

namespace octet {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool continues(unsigned byte) {
  return (byte & 0xC0U) == 0x80U;
}

/// Bytes of a character that begins with `lead`, 0 where none does.
std::size_t length_after(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

/// Whether `second` may follow `lead`: here overlong forms, surrogates and what is above U+10FFFF end.
bool may_follow(unsigned lead, unsigned second) {
  if (!continues(second)) return false;
  if (lead == 0xE0) return second >= 0xA0;
  if (lead == 0xED) return second < 0xA0;
  if (lead == 0xF0) return second >= 0x90;
  return lead != 0xF4 || second < 0x90;
}

/// How many bytes at `from` are of one well-formed character, up to its `length`.
std::size_t well_formed(std::string_view text, std::size_t from, std::size_t length) {
  std::size_t have = 1;
  while (have < length && from + have < text.size()) {
    const unsigned byte = byte_at(text, from + have);
    if (have == 1 ? !may_follow(byte_at(text, from), byte) : !continues(byte)) break;
    ++have;
  }
  return have;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    std::uint64_t eight;
    if (i + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & kHighBits) == 0) {
        i += sizeof eight;
        continue;
      }
    }
    const std::size_t length = length_after(byte_at(text, i));
    if (length == 0 || well_formed(text, i, length) < length) break;
    i += length;
  }
  return i;
}

std::size_t incomplete_utf8_tail(std::string_view text) {
  for (std::size_t tail = 1; tail <= 3 && tail <= text.size(); ++tail) {
    const std::size_t from = text.size() - tail;
    if (continues(byte_at(text, from))) continue;
    const std::size_t length = length_after(byte_at(text, from));
    return length > tail && well_formed(text, from, length) == tail ? tail : 0;
  }
  return 0;
}

char32_t first_character(std::string_view text, std::size_t& size) {
  const unsigned lead = byte_at(text, 0);
  size = length_after(lead);
  if (size == 1) return lead;
  char32_t character = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) character = character << 6 | (byte_at(text, i) & 0x3FU);
  return character;
}

bool is_white_space(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::size_t leading_white_space(std::string_view text) {
  std::size_t end = 0, size = 0;
  while (end < text.size() && is_white_space(first_character(text.substr(end), size))) end += size;
  return end;
}

std::size_t trailing_white_space(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0) {
    std::size_t from = begin - 1, size = 0;
    while (from > 0 && continues(byte_at(text, from))) --from;
    if (!is_white_space(first_character(text.substr(from), size))) break;
    begin = from;
  }
  return text.size() - begin;
}

}  // namespace octet
