// Finds the names of added tokens in a text, as the tokenizers package does.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "data/tokenizer_definition.h"

namespace octet {

class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  struct Found {
    std::size_t begin, end;  ///< with the white space that the token takes along
    std::int32_t id;
  };

  /// The first name that begins at or after `from`; of several that begin there, the longest. White space before `from`
  /// belongs to what came earlier.
  [[nodiscard]] std::optional<Found> find(std::string_view text, std::size_t from) const;

  [[nodiscard]] bool empty() const { return tokens_.empty(); }

 private:
  [[nodiscard]] const AddedToken* longest_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;  // sorted by content
  bool begins_[256] = {};           // which bytes begin a name
};

}  // namespace octet
