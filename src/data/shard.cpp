// Opens, validates and reads token shards.
#include "data/shard.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "data/bin_shard.h"

namespace octet {
namespace {

constexpr std::string_view kTokenizeAgain = "tokenize the text again";

/// The header of `file`, with its magic, version and checksum verified: beyond this point every field is as written.
ShardHeader read_header(std::span<const std::byte> file, const std::string& path) {
  if (file.empty()) throw UserError("{}: the token shard is empty: {}", path, kTokenizeAgain);
  ShardHeader header{};
  if (file.size() < sizeof header) {
    throw UserError("{}: {} bytes are too few for the {} byte header of a token shard: {}", path, file.size(),
                    sizeof header, kTokenizeAgain);
  }
  std::memcpy(&header, file.data(), sizeof header);
  if (std::string_view(header.magic.data(), header.magic.size()) != kShardMagic) {
    throw UserError("{}: is not a token shard (it does not start with {}): tokenize the text first", path, kShardMagic);
  }
  if (header.version == 0 || header.version > kShardVersion) {
    throw UserError("{}: token shard version {} is unknown, this octet reads versions 1 to {}: {}", path,
                    header.version, kShardVersion, kTokenizeAgain);
  }
  if (header.header_checksum != checksum_of(header)) {
    throw UserError("{}: the header is damaged (its checksum does not match): {}", path, kTokenizeAgain);
  }
  return header;
}

/// Whoever wrote the file may have summed up nonsense, so that a correct checksum proves no field.
void validate_fields(const ShardHeader& header, const std::string& path) {
  const auto bytes = header.bytes_per_token;
  if (bytes != 1 && bytes != 2 && bytes != 4) {
    throw UserError("{}: {} bytes per token, but 1, 2 and 4 exist: {}", path, bytes, kTokenizeAgain);
  }
  const bool marked = (header.flags & kMarkedFlag) != 0;
  const std::uint64_t largest = marked ? kMaxVocabSize >> 1U : kMaxVocabSize;
  if (header.vocab_size == 0 || header.vocab_size > largest ||
      (marked ? bytes_per_marked_token_for(header.vocab_size) : bytes_per_token_for(header.vocab_size)) > bytes) {
    throw UserError("{}: a vocabulary of {} does not go with {} bytes per token{}: {}", path, header.vocab_size, bytes,
                    marked ? " with marks" : "", kTokenizeAgain);
  }
  if (header.token_count == 0) throw UserError("{}: holds no tokens: {}", path, kTokenizeAgain);
  if (header.version == 1 && (header.tokenizer != 0 || header.document_end != 0 || header.flags != 0)) {
    throw UserError("{}: bytes 40 to 55 of a header of version 1 are not 0: {}", path, kTokenizeAgain);
  }
  if (header.document_end > header.vocab_size) {
    throw UserError("{}: documents end with token {}, which is outside the vocabulary of {}: {}", path,
                    header.document_end - 1, header.vocab_size, kTokenizeAgain);
  }
  const std::uint32_t flags = header.flags & ((std::uint32_t{1} << kRowShift) - 1);
  if ((flags & ~kMarkedFlag) != 0) throw UserError("{}: flags {:#x} are unknown: {}", path, flags, kTokenizeAgain);
  const std::uint32_t row = header.flags >> kRowShift;
  if (row == 1 || (row > 1 && header.token_count % row != 0)) {
    throw UserError("{}: {} tokens are no whole rows of {}: {}", path, header.token_count, row, kTokenizeAgain);
  }
}

void validate_size(const ShardHeader& header, std::uint64_t token_bytes, const std::string& path) {
  const std::uint64_t whole_tokens = token_bytes / header.bytes_per_token;
  if (whole_tokens < header.token_count) {
    throw UserError("{}: is truncated: {} of {} tokens are there: {}", path, whole_tokens, header.token_count,
                    kTokenizeAgain);
  }
  if (token_bytes != header.token_count * header.bytes_per_token) {
    throw UserError("{}: {} bytes follow the last of {} tokens: {}", path,
                    token_bytes - header.token_count * header.bytes_per_token, header.token_count, kTokenizeAgain);
  }
}

/// Calls `use` with the tokens as a span of their unsigned type; a header's 64 or 1024 bytes keep them aligned.
template <typename Use>
void with_tokens(std::span<const std::byte> bytes, std::uint32_t bytes_per_token, Use use) {
  const auto as = [bytes]<typename Token>(Token) {
    return std::span(reinterpret_cast<const Token*>(bytes.data()), bytes.size() / sizeof(Token));
  };
  switch (bytes_per_token) {
    case 1:
      return use(as(std::uint8_t{}));
    case 2:
      return use(as(std::uint16_t{}));
    default:
      return use(as(std::uint32_t{}));
  }
}

/// Of a marked token: the bits of its id, below its marks.
template <typename Token>
constexpr Token kIdBits = static_cast<Token>(static_cast<Token>(~Token{0}) >> kMarkBits);

template <typename Token>
bool has_mark(Token token, TokenMark mark) {
  constexpr unsigned kShift = 8 * sizeof(Token) - kMarkBits;
  return ((token >> kShift) & static_cast<unsigned>(mark)) != 0;
}

}  // namespace

Shard::Shard(std::filesystem::path path, std::uint64_t model_vocab_size, ShardScan scan)
    : path_(std::move(path)), file_(path_) {
  if (const auto foreign = read_bin_header(file_.bytes(), path_.string())) {
    header_ = *foreign;
    header_bytes_ = kBinHeaderBytes;
  } else {
    header_ = read_header(file_.bytes(), path_.string());
  }
  validate_fields(header_, path_.string());
  validate_size(header_, token_bytes().size(), path_.string());
  if (header_.vocab_size > model_vocab_size) {
    throw UserError("{}: was written for a vocabulary of {} tokens, the model has {}: raise the model's vocab_size",
                    path_.string(), header_.vocab_size, model_vocab_size);
  }
  if (scan == ShardScan::full) scan_tokens();
}

void Shard::scan_tokens() const {
  with_tokens(token_bytes(), header_.bytes_per_token, [this](auto tokens) {
    using Token = typename decltype(tokens)::value_type;
    const Token id_bits = marked() ? kIdBits<Token> : static_cast<Token>(~Token{0});
    // The maximum vectorises, the search for a position does not: it is left to the file that needs it.
    Token largest = 0;
    for (const Token token : tokens) largest = std::max(largest, static_cast<Token>(token & id_bits));
    if (largest < header_.vocab_size) return;
    const auto bad =
        std::ranges::find_if(tokens, [&](Token token) { return Token(token & id_bits) >= header_.vocab_size; });
    throw UserError("{}: token {} at position {} is outside the vocabulary of {}: {}", path_.string(), *bad & id_bits,
                    bad - tokens.begin(), header_.vocab_size, kTokenizeAgain);
  });
  if (header_bytes_ == kBinHeaderBytes) return;  // has no checksum
  if (checksum_of(token_bytes()) != header_.token_checksum) {
    throw UserError("{}: the tokens are damaged (their checksum does not match): {}", path_.string(), kTokenizeAgain);
  }
}

/// Calls `use` with the tokens [first, first + count) as they lie on disk.
template <typename Use>
void Shard::with_range(std::uint64_t first, std::size_t count, Use use) const {
  check(first <= token_count() && count <= token_count() - first, "a read stays inside its shard");
  with_tokens(token_bytes(), header_.bytes_per_token, [&](auto tokens) { use(tokens.subspan(first, count)); });
}

void Shard::read(std::uint64_t first, std::span<std::int32_t> out) const {
  with_range(first, out.size(), [this, out](auto tokens) {
    using Token = typename decltype(tokens)::value_type;
    const Token id_bits = marked() ? kIdBits<Token> : static_cast<Token>(~Token{0});
    std::ranges::transform(tokens, out.begin(),
                           [id_bits](Token token) { return static_cast<std::int32_t>(token & id_bits); });
  });
}

void Shard::read_targets(std::uint64_t first, std::span<std::int32_t> out) const {
  if (!marked()) return read(first, out);
  with_range(first, out.size(), [out](auto tokens) {
    using Token = typename decltype(tokens)::value_type;
    std::ranges::transform(tokens, out.begin(), [](Token token) {
      return has_mark(token, TokenMark::no_target) ? -1 : static_cast<std::int32_t>(token & kIdBits<Token>);
    });
  });
}

void Shard::read_document_starts(std::uint64_t first, std::span<std::int32_t> out) const {
  check(knows_documents(), "a shard says where documents begin");
  with_range(first, out.size(), [this, out](auto tokens) {
    std::size_t start = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool begins = marked() ? has_mark(tokens[i], TokenMark::begins_document)
                                   : i > 0 && tokens[i - 1] == header_.document_end - 1;
      if (begins) start = i;
      out[i] = static_cast<std::int32_t>(start);
    }
  });
}

}  // namespace octet
