// The alphabet in which tokenizer.json writes bytes: a printable character for each of the 256, as GPT-2 chose them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octet {

/// Bytes as characters of the alphabet, in UTF-8.
[[nodiscard]] std::string to_byte_level(std::string_view bytes);

/// The way back; nothing if a character is not of the alphabet.
[[nodiscard]] std::optional<std::string> from_byte_level(std::string_view characters);

}  // namespace octet
