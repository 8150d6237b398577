// What a TOML text must satisfy before the parser may see it. The scan agrees with the parser up to the parser's first
// error, and what follows that error is never parsed.
#include "io/toml_guard.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "core/error.h"

namespace octet {
namespace {

constexpr std::size_t max_bytes = 1 << 20;
constexpr std::size_t max_dots_per_line = 64;

/// The place of the closing quote or line end of the one-line string that opens at `begin`, or the text's end.
std::size_t string_end(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  std::size_t at = begin + 1;
  while (at < text.size() && text[at] != quote && text[at] != '\n') {
    const bool escape = quote == '"' && text[at] == '\\';
    at += escape && at + 1 < text.size() && text[at + 1] != '\n' ? 2 : 1;
  }
  return std::min(at, text.size());
}

}  // namespace

void check_toml_text(std::string_view text, std::string_view source) {
  if (text.size() > max_bytes) {
    throw UserError("{}: {} bytes is too long for a configuration (limit {}); name a TOML file", source, text.size(),
                    max_bytes);
  }
  std::size_t line = 1;
  std::size_t dots = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') {
      ++line;
      dots = 0;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (c == '"' || c == '\'') {
      if (text.substr(at, 3) == std::string(3, c)) {
        throw UserError("{}:{}: a multi-line string has no use here; write it on one line", source, line);
      }
      at = string_end(text, at);
      if (at < text.size() && text[at] == '\n') --at;  // for the line count
    } else if (static_cast<unsigned char>(c) > 0x7F) {
      // toml++ up to 3.3 has undefined behaviour where it asks whether such a character is white space.
      throw UserError("{}:{}: a character beyond ASCII outside of a string or comment; put it in quotes", source, line);
    } else if (c == '.' && ++dots > max_dots_per_line) {
      // Each dot of a key nests a table, and tables are destroyed recursively.
      throw UserError("{}:{}: more than {} dots on one line; write one entry per line", source, line,
                      max_dots_per_line);
    }
  }
}

}  // namespace octet
