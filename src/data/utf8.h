// UTF-8 in texts that may hold anything: what of it is valid, and its characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace octet {

/// Bytes of the longest valid beginning of `text`: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] std::size_t valid_utf8_prefix(std::string_view text);

/// Bytes at the end of `text` that begin a character whose rest is still to come: 0 to 3.
[[nodiscard]] std::size_t incomplete_utf8_tail(std::string_view text);

/// The first character of a valid, non-empty text; its bytes go to `size`.
[[nodiscard]] char32_t first_character(std::string_view text, std::size_t& size);

/// Unicode's property White_Space.
[[nodiscard]] bool is_white_space(char32_t character);

/// Bytes of white space at the beginning and at the end of a valid text.
[[nodiscard]] std::size_t leading_white_space(std::string_view text);
[[nodiscard]] std::size_t trailing_white_space(std::string_view text);

/// Calls `valid` for each run of UTF-8 in `text`, `other` for each run of other bytes between them, in order.
template <typename Valid, typename Other>
void for_each_utf8_run(std::string_view text, Valid&& valid, Other&& other) {
  while (!text.empty()) {
    std::size_t size = valid_utf8_prefix(text);
    if (size > 0) {
      valid(text.substr(0, size));
    } else {
      while (size < text.size() && valid_utf8_prefix(text.substr(size, 4)) == 0) ++size;
      other(text.substr(0, size));
    }
    text.remove_prefix(size);
  }
}

}  // namespace octet
