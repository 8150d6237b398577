// Unicode's Normalization Form C, which some tokenizers give their text before they split it.
#pragma once

#include <string>
#include <string_view>

namespace octet {

/// Whether a valid text is certainly in the form already, seen from the ranges of its characters alone. False says
/// nothing.
[[nodiscard]] bool plainly_nfc(std::string_view text);

/// A valid text in the form.
[[nodiscard]] std::string to_nfc(std::string_view text);

}  // namespace octet
