#include "data/open_tokenizer.h"

#include "core/error.h"
#include "data/byte_tokenizer.h"

namespace octet {

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& what) {
  if (what == "bytes") return std::make_unique<ByteTokenizer>();
  throw UserError("there is no tokenizer \"{}\": the tokenizers are bytes", what);
}

}  // namespace octet
