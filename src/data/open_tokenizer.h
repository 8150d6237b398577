// The tokenizer that a user names.
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer.h"

namespace octet {

/// "bytes"; the path of a tokenizer.json, or of a directory that holds one; or, for a tiktoken file, which does not say
/// how text is split, "ENCODING:PATH" with gpt2, cl100k, llama3, o200k or qwen. Throws UserError for any other, for a
/// file that is damaged, and for what it asks for that Octet does not do.
[[nodiscard]] std::unique_ptr<Tokenizer> open_tokenizer(const std::string& what);

}  // namespace octet
