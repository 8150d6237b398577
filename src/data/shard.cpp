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
  if (header.vocab_size == 0 || header.vocab_size > kMaxVocabSize || bytes_per_token_for(header.vocab_size) > bytes) {
    throw UserError("{}: a vocabulary of {} does not go with {} bytes per token: {}", path, header.vocab_size, bytes,
                    kTokenizeAgain);
  }
  if (header.token_count == 0) throw UserError("{}: holds no tokens: {}", path, kTokenizeAgain);
  if (header.version == 1 && (header.tokenizer != 0 || header.document_end != 0 || header.flags != 0)) {
    throw UserError("{}: bytes 40 to 55 of a header of version 1 are not 0: {}", path, kTokenizeAgain);
  }
  if (header.document_end > header.vocab_size) {
    throw UserError("{}: documents end with token {}, which is outside the vocabulary of {}: {}", path,
                    header.document_end - 1, header.vocab_size, kTokenizeAgain);
  }
  if (header.flags != 0) throw UserError("{}: flags {:#x} are unknown: {}", path, header.flags, kTokenizeAgain);
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
    // The maximum vectorises, the search for a position does not: it is left to the file that needs it.
    if (*std::max_element(tokens.begin(), tokens.end()) < header_.vocab_size) return;
    const auto bad = std::find_if(tokens.begin(), tokens.end(), [this](auto t) { return t >= header_.vocab_size; });
    throw UserError("{}: token {} at position {} is outside the vocabulary of {}: {}", path_.string(), *bad,
                    bad - tokens.begin(), header_.vocab_size, kTokenizeAgain);
  });
  if (header_bytes_ == kBinHeaderBytes) return;  // has no checksum
  if (checksum_of(token_bytes()) != header_.token_checksum) {
    throw UserError("{}: the tokens are damaged (their checksum does not match): {}", path_.string(), kTokenizeAgain);
  }
}

void Shard::read(std::uint64_t first, std::span<std::int32_t> out) const {
  check(first <= token_count() && out.size() <= token_count() - first, "a read stays inside its shard");
  with_tokens(token_bytes(), header_.bytes_per_token, [first, out](auto tokens) {
    std::ranges::transform(tokens.subspan(first, out.size()), out.begin(),
                           [](auto token) { return static_cast<std::int32_t>(token); });
  });
}

}  // namespace octet
