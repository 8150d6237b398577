// Writes token shards: tokens first, the header with its checksums last.
#include "data/shard_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "data/shard_format.h"

namespace octet {

ShardWriter::ShardWriter(std::filesystem::path path, std::uint64_t vocab_size, ShardOrigin origin)
    : path_(std::move(path)), partial_(path_), vocab_size_(vocab_size), origin_(origin), hash_(XXH3_createState()) {
  check(vocab_size >= 1 && vocab_size <= kMaxVocabSize, "a vocabulary has 1 to 2^31 tokens");
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

void ShardWriter::append(std::span<const std::int32_t> tokens) {
  const auto outside = [this](std::int32_t token) {
    return token < 0 || static_cast<std::uint64_t>(token) >= vocab_size_;
  };
  check(std::ranges::none_of(tokens, outside), "a tokenizer stays inside its vocabulary");
  switch (bytes_per_token_for(vocab_size_)) {
    case 1:
      return append_as<std::uint8_t>(tokens);
    case 2:
      return append_as<std::uint16_t>(tokens);
    default:
      return append_as<std::uint32_t>(tokens);
  }
}

template <typename Token>
void ShardWriter::append_as(std::span<const std::int32_t> tokens) {
  packed_.resize(tokens.size_bytes() / sizeof(std::int32_t) * sizeof(Token));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto token = static_cast<Token>(tokens[i]);
    std::memcpy(packed_.data() + i * sizeof token, &token, sizeof token);
  }
  XXH3_64bits_update(hash_.get(), packed_.data(), packed_.size());
  write(packed_.data(), packed_.size());
  token_count_ += tokens.size();
}

void ShardWriter::finish() {
  check(file_ != nullptr && token_count_ > 0, "a shard is finished once, with tokens in it");
  ShardHeader header{};
  std::ranges::copy(kShardMagic, header.magic.begin());
  header.version = kShardVersion;
  header.bytes_per_token = bytes_per_token_for(vocab_size_);
  header.vocab_size = vocab_size_;
  header.token_count = token_count_;
  header.tokenizer = origin_.tokenizer;
  header.document_end = origin_.document_end ? static_cast<std::uint32_t>(*origin_.document_end) + 1 : 0;
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
