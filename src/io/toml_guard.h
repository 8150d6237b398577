// What a TOML text must satisfy before the parser may see it.
#pragma once

#include <string_view>

namespace octet {

/// UserError (source, line, remedy) for a text that is longer than any configuration, nests dotted keys deeply, has
/// characters beyond ASCII outside of strings and comments, or multi-line strings.
void check_toml_text(std::string_view text, std::string_view source);

}  // namespace octet
