// The tokenizer that a user names.
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer.h"

namespace octet {

/// "bytes". Throws UserError for any other.
[[nodiscard]] std::unique_ptr<Tokenizer> open_tokenizer(const std::string& what);

}  // namespace octet
