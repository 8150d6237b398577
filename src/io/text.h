// Words in messages: what a user typed made safe to print, and the name that was probably meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace octet {

/// `text` on one line: control characters as \xNN, and "..." in place of what exceeds `max_bytes`.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max_bytes = 200);

/// The candidate with the fewest edits (insert, delete, replace) from `word`; none if more than a third of the word
/// would change. Ties go to the earlier candidate. The result views the candidate.
[[nodiscard]] std::optional<std::string_view> nearest_name(std::string_view word,
                                                           std::span<const std::string_view> candidates);

}  // namespace octet
