// The sorted names are a trie: each further byte narrows the range of those that still match.
#include "data/added_tokens.h"

#include <algorithm>

#include "data/utf8.h"

namespace octet {

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  for (const AddedToken& token : tokens_) begins_[static_cast<unsigned char>(token.content.front())] = true;
}

const AddedToken* AddedTokenFinder::longest_at(std::string_view text) const {
  const AddedToken* longest = nullptr;
  auto first = tokens_.begin(), last = tokens_.end();
  for (std::size_t i = 0; first != last; ++i) {
    if (first->content.size() == i) longest = &*first++;  // the shortest of a range comes first
    if (i == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto at_i = [i](const AddedToken& token) { return static_cast<unsigned char>(token.content[i]); };
    first = std::partition_point(first, last, [&](const AddedToken& token) { return at_i(token) < byte; });
    last = std::partition_point(first, last, [&](const AddedToken& token) { return at_i(token) == byte; });
  }
  return longest;
}

std::optional<AddedTokenFinder::Found> AddedTokenFinder::find(std::string_view text, std::size_t from) const {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!begins_[static_cast<unsigned char>(text[at])]) continue;
    const AddedToken* token = longest_at(text.substr(at));
    if (token == nullptr) continue;
    Found found{at, at + token->content.size(), token->id};
    if (token->lstrip) found.begin -= trailing_white_space(text.substr(from, at - from));
    if (token->rstrip) {
      const std::string_view after = text.substr(found.end);
      found.end += leading_white_space(after.substr(0, valid_utf8_prefix(after)));
    }
    return found;
  }
  return {};
}

}  // namespace octet
