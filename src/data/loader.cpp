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

void Loader::next_batch(std::span<std::int32_t> inputs, std::span<std::int32_t> targets) {
  const std::size_t rows = windows_.rows(inputs, targets);
  for (std::size_t row = 0; row < rows; ++row) {
    const Permutation order(windows_.count(), seed_, state_.epoch);
    windows_.read(order_ == DataOrder::shuffled ? order(state_.next) : state_.next, row, inputs, targets);
    if (++state_.next == windows_.count()) state_ = {state_.epoch + 1, 0};
  }
}

ValidationLoader::ValidationLoader(std::vector<Shard> shards, std::uint64_t seq_len, std::uint64_t max_windows)
    : windows_(std::move(shards), seq_len), count_(std::min(max_windows, windows_.count())) {
  check(max_windows >= 1, "a validation has a window");
}

void ValidationLoader::read(std::uint64_t first, std::span<std::int32_t> inputs,
                            std::span<std::int32_t> targets) const {
  const std::size_t rows = windows_.rows(inputs, targets);
  check(first <= count_ && rows <= count_ - first, "a validation batch stays inside the validation windows");
  for (std::size_t row = 0; row < rows; ++row) windows_.read(first + row, row, inputs, targets);
}

}  // namespace octet
