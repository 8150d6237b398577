// Regular expressions as tokenizer.json writes them, in the words of PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace octet {

/// tokenizer.json's patterns are Oniguruma's, in Ruby's syntax. The two libraries read most of what tokenizers use
/// alike; what they do not (`\s`, `\uHHHH`) is rewritten here, and what cannot be rewritten (`\w`, `\b`, `\h`, anchors,
/// nested classes, `{n}+`) is refused: a pattern is never read in another sense. Throws UserError that names the
/// construct.
[[nodiscard]] std::string pcre2_pattern(std::string_view pattern);

}  // namespace octet
