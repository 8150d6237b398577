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
    first_.push_back(first_.back() + shard.token_count() / (seq_len + 1));
  }
}

std::size_t Windows::rows(std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets) const {
  check(!inputs.empty() && inputs.size() == targets.size() && inputs.size() % seq_len_ == 0,
        "a batch is [rows, seq_len] inputs and as many targets");
  return inputs.size() / seq_len_;
}

void Windows::read(std::uint64_t window, std::size_t row, std::span<std::int32_t> inputs,
                   std::span<std::int32_t> targets) const {
  check(window < count(), "a window lies inside the data");
  const auto next_shard = std::upper_bound(first_.begin(), first_.end(), window);
  const auto shard = static_cast<std::size_t>(next_shard - first_.begin()) - 1;
  const std::uint64_t begin = (window - first_[shard]) * (seq_len_ + 1);
  shards_[shard].read(begin, inputs.subspan(row * seq_len_, seq_len_));
  shards_[shard].read(begin + 1, targets.subspan(row * seq_len_, seq_len_));
}

}  // namespace octet
