// Closes shards where they are full, and keeps what follows until it is enough for another.
#include "data/split_writer.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace octet {

SplitWriter::SplitWriter(std::filesystem::path folder, DataSplit split, const Tokenizer& tokenizer,
                         std::uint64_t shard_tokens, SplitProgress progress)
    : folder_(std::move(folder)),
      split_(split),
      vocab_size_(tokenizer.vocab_size()),
      origin_{tokenizer.fingerprint(), tokenizer.end_of_document()},
      shard_tokens_(shard_tokens),
      progress_(std::move(progress)),
      now_{progress_.written.counts, progress_.next_piece},
      shard_end_(now_) {}

bool SplitWriter::append(std::span<const std::int32_t> tokens, const SplitCounts& counts, std::uint64_t piece) {
  check(piece >= now_.next_piece, "pieces come in ascending order");
  now_.counts += counts;
  now_.next_piece = piece + 1;
  const bool full = shard_ && shard_->token_count() >= shard_tokens_;
  if (!full) {
    write(tokens);
    return false;
  }
  pending_.insert(pending_.end(), tokens.begin(), tokens.end());
  if (pending_.size() < std::min(shard_tokens_, std::uint64_t{1} << 20)) return false;
  finish_shard();
  write(pending_);
  pending_.clear();
  return true;
}

void SplitWriter::finish() {
  write(pending_);
  pending_.clear();
  if (shard_) finish_shard();
  progress_.written.counts = now_.counts;  // also where nothing but skipped lines followed the last shard
  progress_.next_piece = now_.next_piece;
}

void SplitWriter::write(std::span<const std::int32_t> tokens) {
  if (!tokens.empty()) {
    if (!shard_) {
      name_ = fmt::format("{}-{:05}.tok", to_string(split_), progress_.written.shards.size());
      shard_.emplace(folder_ / name_, vocab_size_, origin_);
    }
    shard_->append(tokens);
  }
  shard_end_ = now_;
}

void SplitWriter::finish_shard() {
  shard_->finish();
  progress_.written.shards.push_back({name_, shard_->token_count(), shard_->token_checksum()});
  progress_.written.counts = shard_end_.counts;
  progress_.next_piece = shard_end_.next_piece;
  shard_.reset();
}

}  // namespace octet
