// Makes any text safe inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace octet::io {

/// `text` for use between tags and inside quoted attributes. Control characters other than tab and newline, which HTML
/// forbids, become U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace octet::io
