// Cuts windows out of shards.
#include "data/windows.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace octet {

Windows::Windows(std::vector<Shard> shards, std::uint64_t seq_len)
    : shards_(std::move(shards)), seq_len_(seq_len), first_{0} {
  check(!shards_.empty() && seq_len >= 1, "windows have a shard and a length");
  for (const Shard& shard : shards_) {
    // Compared as seq_len >= count, not seq_len + 1 > count, so that no length wraps around.
    if (seq_len >= shard.token_count()) {
      throw UserError("{}: {} tokens are too few for one sequence of seq_len {} (+ 1): shorten seq_len or add text",
                      shard.path().string(), shard.token_count(), seq_len);
    }
    if (shard.row_tokens() != 0 && shard.row_tokens() != seq_len + 1) {
      throw UserError("{}: was packed for seq_len {}, not {}: set training.seq_len = {}, or pack it again",
                      shard.path().string(), shard.row_tokens() - 1, seq_len, shard.row_tokens() - 1);
    }
    first_.push_back(first_.back() + shard.token_count() / (seq_len + 1));
  }
}

void Windows::require_documents() const {
  for (const Shard& shard : shards_) {
    if (shard.knows_documents()) continue;
    throw UserError(
        "{}: does not say where documents end, which data.boundaries = \"attention\" needs: tokenize it again with a "
        "tokenizer that ends documents, or set data.boundaries = \"ignored\"",
        shard.path().string());
  }
}

std::size_t Windows::rows(const TokenBatch& batch) const {
  const std::size_t size = batch.inputs.size();
  check(size > 0 && size == batch.targets.size() && size % seq_len_ == 0,
        "a batch is [rows, seq_len] inputs and as many targets");
  check(batch.document_start.empty() || batch.document_start.size() == size,
        "each input of a batch has a document, or none has");
  return size / seq_len_;
}

void Windows::read(std::uint64_t window, std::size_t row, const TokenBatch& batch) const {
  check(window < count(), "a window lies inside the data");
  const auto next_shard = std::upper_bound(first_.begin(), first_.end(), window);
  const auto shard = static_cast<std::size_t>(next_shard - first_.begin()) - 1;
  const std::uint64_t begin = (window - first_[shard]) * (seq_len_ + 1);
  const auto row_of = [&](std::span<std::int32_t> all) { return all.subspan(row * seq_len_, seq_len_); };
  shards_[shard].read(begin, row_of(batch.inputs));
  shards_[shard].read_targets(begin + 1, row_of(batch.targets));
  if (!batch.document_start.empty()) shards_[shard].read_document_starts(begin, row_of(batch.document_start));
}

}  // namespace octet
