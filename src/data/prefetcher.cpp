#include "data/prefetcher.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace octet {

Prefetcher::Prefetcher(Mix mix, std::size_t tokens, bool documents) : mix_(std::move(mix)), state_(mix_.state()) {
  first_.inputs.resize(tokens);
  first_.targets.resize(tokens);
  if (documents) first_.document_start.resize(tokens);
}

void Prefetcher::restore(const MixState& state) {
  check(!coming_.valid(), "a position is restored before the first batch");
  mix_.restore(state);
  state_ = mix_.state();
}

void Prefetcher::begin(Made buffers) {
  coming_ = std::async(std::launch::async, [this, made = std::move(buffers)]() mutable {
    mix_.next_batch({made.inputs, made.targets, made.document_start});
    made.behind = mix_.state();
    return std::move(made);
  });
}

void Prefetcher::next_batch(const TokenBatch& batch) {
  if (!coming_.valid()) begin(std::move(first_));
  Made made = coming_.get();
  check(batch.inputs.size() == made.inputs.size() && batch.targets.size() == made.targets.size() &&
            batch.document_start.size() == made.document_start.size(),
        "a batch has the size that is prefetched");
  std::ranges::copy(made.inputs, batch.inputs.begin());
  std::ranges::copy(made.targets, batch.targets.begin());
  std::ranges::copy(made.document_start, batch.document_start.begin());
  state_ = std::move(made.behind);
  begin(std::move(made));
}

}  // namespace octet
