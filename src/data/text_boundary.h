// Where a text may be cut without tearing what belongs together.
#pragma once

#include <cstddef>
#include <string_view>

namespace octet {

/// The place to cut `text` near `target` bytes, in (0, target]: the last end of a paragraph (an empty line) at or
/// before `target`, else of a line, else of a UTF-8 character. Looks back 64 KiB at most, `target` is in [1,
/// text.size()].
[[nodiscard]] std::size_t text_boundary(std::string_view text, std::size_t target);

}  // namespace octet
