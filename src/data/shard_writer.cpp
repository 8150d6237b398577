// Writes token shards: tokens first, the header with its checksums last.
#include "data/shard_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace octet {

ShardWriter::ShardWriter(std::filesystem::path path, std::uint64_t vocab_size, ShardOrigin origin, ShardLayout layout)
    : path_(std::move(path)),
      partial_(path_),
      vocab_size_(vocab_size),
      origin_(origin),
      layout_(layout),
      hash_(XXH3_createState()) {
  check(vocab_size >= 1 && vocab_size <= (layout.marked ? kMaxVocabSize >> 1U : kMaxVocabSize),
        "a vocabulary has 1 to 2^31 tokens, 2^30 beside marks");
  check(layout.row_tokens != 1 && layout.row_tokens <= kMaxRowTokens, "a row has 2 to 2^24 - 1 tokens");
  check(hash_ != nullptr && XXH3_64bits_reset(hash_.get()) == XXH_OK, "a hash state can be made");
  partial_ += ".partial";
  file_.reset(std::fopen(partial_.c_str(), "wb"));
  if (!file_) refuse(errno);
  const ShardHeader unfinished{};
  write(&unfinished, sizeof unfinished);
}

ShardWriter::~ShardWriter() {
  if (!file_) return;
  file_.reset();
  std::error_code ignored;  // a destructor has nobody to tell
  std::filesystem::remove(partial_, ignored);
}

std::uint32_t ShardWriter::bytes_per_token() const {
  return layout_.marked ? bytes_per_marked_token_for(vocab_size_) : bytes_per_token_for(vocab_size_);
}

void ShardWriter::append(std::span<const std::int32_t> tokens) {
  append(tokens, {});
}

void ShardWriter::append(std::span<const std::int32_t> tokens, std::span<const TokenMark> marks) {
  check(marks.size() == (layout_.marked ? tokens.size() : 0), "each token of a marked shard has its marks");
  const auto outside = [this](std::int32_t token) {
    return token < 0 || static_cast<std::uint64_t>(token) >= vocab_size_;
  };
  check(std::ranges::none_of(tokens, outside), "a tokenizer stays inside its vocabulary");
  switch (bytes_per_token()) {
    case 1:
      return append_as<std::uint8_t>(tokens, marks);
    case 2:
      return append_as<std::uint16_t>(tokens, marks);
    default:
      return append_as<std::uint32_t>(tokens, marks);
  }
}

template <typename Token>
void ShardWriter::append_as(std::span<const std::int32_t> tokens, std::span<const TokenMark> marks) {
  constexpr unsigned kShift = 8 * sizeof(Token) - kMarkBits;
  packed_.resize(tokens.size_bytes() / sizeof(std::int32_t) * sizeof(Token));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    auto token = static_cast<Token>(tokens[i]);
    if (!marks.empty()) token = static_cast<Token>(token | (static_cast<std::uint32_t>(marks[i]) << kShift));
    std::memcpy(packed_.data() + i * sizeof token, &token, sizeof token);
  }
  XXH3_64bits_update(hash_.get(), packed_.data(), packed_.size());
  write(packed_.data(), packed_.size());
  token_count_ += tokens.size();
}

void ShardWriter::finish() {
  check(file_ != nullptr && token_count_ > 0, "a shard is finished once, with tokens in it");
  check(layout_.row_tokens == 0 || token_count_ % layout_.row_tokens == 0, "a shard of rows has whole rows");
  ShardHeader header{};
  std::ranges::copy(kShardMagic, header.magic.begin());
  header.version = kShardVersion;
  header.bytes_per_token = bytes_per_token();
  header.vocab_size = vocab_size_;
  header.token_count = token_count_;
  header.tokenizer = origin_.tokenizer;
  header.document_end = origin_.document_end ? static_cast<std::uint32_t>(*origin_.document_end) + 1 : 0;
  header.flags = (layout_.marked ? kMarkedFlag : 0) | (layout_.row_tokens << kRowShift);
  header.token_checksum = token_checksum();
  header.header_checksum = checksum_of(header);
  if (std::fseek(file_.get(), 0, SEEK_SET) != 0) refuse(errno);
  write(&header, sizeof header);
  if (std::fflush(file_.get()) != 0) refuse(errno);

  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (error) refuse(error.value());
  file_.reset();
}

void ShardWriter::write(const void* data, std::size_t size) {
  if (std::fwrite(data, 1, size, file_.get()) != size) refuse(errno);
}

void ShardWriter::refuse(int error) const {
  throw UserError("{}: cannot be written ({}): check the folder, its permissions and the free space", path_.string(),
                  std::generic_category().message(error));
}

}  // namespace octet
