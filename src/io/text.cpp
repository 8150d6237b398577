// Words in messages: escaping and spelling suggestions.
#include "io/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace octet {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // row[j]: edits from the first i letters of a to the first j of b
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

bool continues_utf8(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::size_t kept = std::min(text.size(), max_bytes);
  while (kept > 0 && kept < text.size() && continues_utf8(text[kept])) --kept;  // never cut inside a character

  std::string line;
  for (const char c : text.substr(0, kept)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return kept < text.size() ? line + "..." : line;
}

std::optional<std::string_view> nearest_name(std::string_view word, std::span<const std::string_view> candidates) {
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::optional<std::string_view> nearest;
  for (const std::string_view candidate : candidates) {
    const std::size_t length_change = std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size());
    if (length_change >= fewest) continue;  // also keeps a hostile, endless word cheap
    const std::size_t edits = edit_distance(word, candidate);
    if (edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace octet
