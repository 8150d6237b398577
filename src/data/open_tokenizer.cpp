// From a name to a tokenizer.
#include "data/open_tokenizer.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "core/error.h"
#include "data/bpe_tokenizer.h"
#include "data/byte_tokenizer.h"
#include "data/split_presets.h"
#include "data/tiktoken_file.h"
#include "data/tokenizer_json.h"
#include "io/files.h"
#include "io/text.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// Throws UserError where nothing, or nothing that is a tokenizer, is at `path`.
fs::path tokenizer_json_at(const fs::path& path, const std::string& what) {
  std::error_code unreadable;
  if (fs::is_directory(path, unreadable)) {
    if (fs::exists(path / "tokenizer.json", unreadable)) return path / "tokenizer.json";
    throw UserError("{}: holds no tokenizer.json: name a directory that does or, of a tiktoken file, ENCODING:PATH",
                    what);
  }
  if (!fs::exists(path, unreadable)) {
    throw UserError(
        "there is no tokenizer \"{}\": the tokenizers are bytes, the path of a tokenizer.json or of its directory, or "
        "ENCODING:PATH for a tiktoken file with one of the encodings {}",
        printable(what), fmt::join(tiktoken_encoding_names(), ", "));
  }
  return path;
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& what) {
  if (what == "bytes") return std::make_unique<ByteTokenizer>();
  const std::size_t colon = what.find(':');
  const TiktokenEncoding* encoding = colon == std::string::npos ? nullptr : tiktoken_encoding(what.substr(0, colon));
  if (encoding != nullptr) {
    const std::string path = what.substr(colon + 1);
    return std::make_unique<BpeTokenizer>(parse_tiktoken(read_file(path), path, *encoding));
  }
  const fs::path path = tokenizer_json_at(what, what);
  const std::string text = read_file(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') {
    throw UserError("{}: is not a tokenizer.json: of a tiktoken file, name its encoding too, as in llama3:{}", what,
                    what);
  }
  return std::make_unique<BpeTokenizer>(read_tokenizer_json(path));
}

}  // namespace octet
