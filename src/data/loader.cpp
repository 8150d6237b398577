// Walks windows in shuffled order for training, in order for validation.
#include "data/loader.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "data/permutation.h"

namespace octet {

Loader::Loader(std::vector<Shard> shards, std::uint64_t seq_len, std::uint64_t seed, DataOrder order)
    : windows_(std::move(shards), seq_len), seed_(seed), order_(order) {}

void Loader::restore(LoaderState state) {
  if (state.next >= windows_.count()) {
    throw UserError(
        "the data position {} of epoch {} does not exist, an epoch has {} sequences: resume with the data and "
        "seq_len of the saved run",
        state.next, state.epoch, windows_.count());
  }
  state_ = state;
}

void Loader::next_row(std::size_t row, const TokenBatch& batch) {
  const Permutation order(windows_.count(), seed_, state_.epoch);
  windows_.read(order_ == DataOrder::shuffled ? order(state_.next) : state_.next, row, batch);
  if (++state_.next == windows_.count()) state_ = {state_.epoch + 1, 0};
}

void Loader::next_batch(const TokenBatch& batch) {
  const std::size_t rows = windows_.rows(batch);
  for (std::size_t row = 0; row < rows; ++row) next_row(row, batch);
}

ValidationLoader::ValidationLoader(std::vector<Shard> shards, std::uint64_t seq_len, std::uint64_t max_windows)
    : windows_(std::move(shards), seq_len), count_(std::min(max_windows, windows_.count())) {
  check(max_windows >= 1, "a validation has a window");
}

bool ValidationLoader::has_targets(std::uint64_t windows) const {
  std::vector<std::int32_t> inputs(windows_.seq_len());
  std::vector<std::int32_t> targets(windows_.seq_len());
  for (std::uint64_t window = 0; window < windows; ++window) {
    read(window, {inputs, targets, {}});
    if (std::ranges::any_of(targets, [](std::int32_t target) { return target >= 0; })) return true;
  }
  return false;
}

void ValidationLoader::read(std::uint64_t first, const TokenBatch& batch) const {
  const std::size_t rows = windows_.rows(batch);
  check(first <= count_ && rows <= count_ - first, "a validation batch stays inside the validation windows");
  for (std::size_t row = 0; row < rows; ++row) windows_.read(first + row, row, batch);
}

}  // namespace octet
