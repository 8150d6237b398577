// How a case divides its sequences into documents.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ops/selftest/inputs.h"

namespace octet::ops::selftest {

struct Packing {
  Index length;                   ///< of documents that are as long as others; 0: none is
  std::array<Index, 6> begins{};  ///< other tokens that a document begins with; 0: none

  /// Whether a document begins at a token. Each sequence of a case has its own: all is one token later in the next.
  [[nodiscard]] constexpr bool begins_at(Index sequence, Index token) const {
    const Index place = token - sequence;
    return token == 0 || (length > 0 && place % length == 0) ||
           (place > 0 && std::find(begins.begin(), begins.end(), place) != begins.end());
  }
};

/// Sequences that are one document each, which a packed op must treat as it does without documents, where the same
/// kernels compute both.
inline constexpr Packing kWholeSequences{0};

/// [sequences * seq_len]: as Documents::start has it.
[[nodiscard]] inline std::vector<std::int32_t> document_starts(const Packing& packing, Index sequences, Index seq_len) {
  std::vector<std::int32_t> starts;
  for (Index s = 0; s < sequences; ++s) {
    Index start = 0;
    for (Index token = 0; token < seq_len; ++token) {
      if (packing.begins_at(s, token)) start = token;
      starts.push_back(static_cast<std::int32_t>(start));
    }
  }
  return starts;
}

[[nodiscard]] inline std::string describe(const std::optional<Packing>& packing) {
  if (!packing) return "";
  std::string text = ", packed documents";
  if (packing->length > 0) text += fmt::format(" of {}", packing->length);
  for (const Index begin : packing->begins) {
    if (begin > 0) text += fmt::format(", at {}", begin);
  }
  return text;
}

}  // namespace octet::ops::selftest
