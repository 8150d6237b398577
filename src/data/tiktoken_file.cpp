// Lines of base64 and ranks.
#include "data/tiktoken_file.h"

#include <charconv>
#include <optional>
#include <unordered_map>

#include "core/error.h"

namespace octet {
namespace {

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

/// Nothing unless `text` is canonical base64 with its padding.
std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return {};
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  unsigned bits = 0, have = 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const int digit = base64_digit(c);
    if (digit < 0) return {};
    bits = bits << 6 | static_cast<unsigned>(digit);
    have += 6;
    if (have >= 8) bytes.push_back(static_cast<char>(bits >> (have -= 8) & 0xFFU));
  }
  if ((bits & ((1U << have) - 1U)) != 0) return {};  // bits that belong to no byte
  return bytes;
}

struct Line {
  std::string bytes;
  std::int32_t rank = 0;
};

Line parse_line(std::string_view line, const std::string& file, std::size_t number) {
  const std::size_t space = line.find(' ');
  Line parsed;
  std::optional<std::string> bytes = from_base64(line.substr(0, std::min(space, line.size())));
  const char* end = line.data() + line.size();
  if (bytes && space != std::string_view::npos) {
    const auto [rest, error] = std::from_chars(line.data() + space + 1, end, parsed.rank);
    if (error == std::errc() && rest == end && parsed.rank >= 0 && parsed.rank < kMaxTokens) {
      parsed.bytes = std::move(*bytes);
      return parsed;
    }
  }
  throw UserError("{}: line {} is not a token in base64 and its rank: is this a tiktoken file?", file, number);
}

void read_ranks(std::string_view text, const std::string& file, std::vector<std::string>& pieces) {
  std::size_t count = 0, number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    Line parsed = parse_line(line, file, number);
    const auto rank = static_cast<std::size_t>(parsed.rank);
    if (rank >= pieces.size()) pieces.resize(rank + 1);
    if (!pieces[rank].empty()) throw UserError("{}: line {}: the rank {} occurs twice", file, number, rank);
    pieces[rank] = std::move(parsed.bytes);
    ++count;
  }
  if (count == 0) throw UserError("{}: holds no token: is this a tiktoken file?", file);
  for (std::size_t rank = 0; rank < pieces.size() && count < pieces.size(); ++rank) {
    if (pieces[rank].empty()) throw UserError("{}: the rank {} is missing: the file is damaged", file, rank);
  }
}

/// Every way in which two tokens are a third.
void find_merges(const std::string& file, TokenizerDefinition& definition) {
  std::unordered_map<std::string_view, std::int32_t> ids;
  ids.reserve(definition.pieces.size());
  for (std::size_t id = 0; id < definition.pieces.size(); ++id) {
    const auto [other, fresh] = ids.emplace(definition.pieces[id], static_cast<std::int32_t>(id));
    if (!fresh) throw UserError("{}: the ranks {} and {} are the same token", file, other->second, id);
  }
  for (std::size_t id = 0; id < definition.pieces.size(); ++id) {
    const std::string_view piece = definition.pieces[id];
    for (std::size_t cut = 1; cut < piece.size(); ++cut) {
      const auto left = ids.find(piece.substr(0, cut)), right = ids.find(piece.substr(cut));
      if (left == ids.end() || right == ids.end()) continue;
      const auto merged = static_cast<std::int32_t>(id);
      definition.merges.push_back({left->second, right->second, merged, merged});
    }
  }
}

}  // namespace

TokenizerDefinition parse_tiktoken(std::string_view text, const std::string& file, const TiktokenEncoding& encoding) {
  TokenizerDefinition definition;
  definition.name = file;
  read_ranks(text, file, definition.pieces);
  find_merges(file, definition);
  const SplitPreset& preset = split_preset(encoding.name);
  definition.stages = preset.stages;
  definition.nfc = preset.nfc;
  definition.whole_words = true;  // tiktoken looks for the whole word first
  const std::size_t ranks = definition.pieces.size();
  for (const auto& [name, offset] : encoding.special) {
    const std::size_t id = ranks + static_cast<std::size_t>(offset);
    if (id >= definition.pieces.size()) definition.pieces.resize(id + 1);
    definition.pieces[id] = name;
    AddedToken token;
    token.id = static_cast<std::int32_t>(id);
    token.content = name;
    token.special = true;
    definition.added.push_back(std::move(token));
  }
  return definition;
}

}  // namespace octet
