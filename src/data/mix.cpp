#include "data/mix.h"

#include <limits>
#include <utility>

#include "core/error.h"
#include "data/mix_rules.h"

namespace octet {

Mix::Mix(std::vector<Source> sources) : sources_(std::move(sources)), owed_(sources_.size(), 0) {
  std::uint64_t whole = 0;
  for (const Source& source : sources_) whole += source.share;
  check(whole == kWholeMix, "the shares of a mix make a whole");
}

Mix::Mix(Loader loader) : owed_{0} {
  sources_.push_back({"", kWholeMix, std::move(loader)});
}

MixState Mix::state() const {
  MixState state;
  for (const Source& source : sources_) state.sources.push_back({source.rule, source.loader.state()});
  return state;
}

void Mix::restore(const MixState& state) {
  if (state.sources.size() != sources_.size()) {
    throw UserError("the checkpoint has a position in {} sources of data, data.mix makes {}: resume with its data.mix",
                    state.sources.size(), sources_.size());
  }
  std::uint64_t rows = 0;
  std::vector<std::uint64_t> given;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (state.sources[i].rule != sources_[i].rule) {
      throw UserError("the checkpoint's source {} of data is \"{}\", that of data.mix \"{}\": resume with its data.mix",
                      i + 1, state.sources[i].rule, sources_[i].rule);
    }
    const LoaderState& position = state.sources[i].position;
    given.push_back(position.epoch * sources_[i].loader.windows_per_epoch() + position.next);
    rows += given.back();
  }
  // Counts may wrap around, and so may their products: what is owed is small, and unsigned arithmetic gives it exactly.
  std::vector<std::int64_t> owed;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    owed.push_back(static_cast<std::int64_t>(sources_[i].share * rows - kWholeMix * given[i]));
    const auto whole = static_cast<std::int64_t>(kWholeMix);
    if (owed.back() >= whole || owed.back() <= -whole) {
      throw UserError(
          "the checkpoint's positions in the sources of data.mix are not in their shares (\"{}\"): resume with the "
          "data and seq_len of the saved run",
          sources_[i].rule);
    }
  }
  for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i].loader.restore(state.sources[i].position);
  owed_ = std::move(owed);
}

void Mix::require_documents() const {
  for (const Source& source : sources_) source.loader.require_documents();
}

void Mix::next_batch(const TokenBatch& batch) {
  const std::size_t rows = sources_.front().loader.rows(batch);
  for (std::size_t row = 0; row < rows; ++row) sources_[draw()].loader.next_row(row, batch);
}

/// Of the sources that are owed at least 1 / (2k - 2) of a row, k sources in all, the one that would first be owed
/// 1 - 1 / (2k - 2) of one if it got no further turn.
std::size_t Mix::draw() {
  if (sources_.size() == 1) return 0;
  const auto whole = static_cast<std::int64_t>(kWholeMix);
  const auto parts = static_cast<std::int64_t>(2 * sources_.size() - 2);
  std::size_t drawn = sources_.size();
  double first_deadline = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    owed_[i] += static_cast<std::int64_t>(sources_[i].share);
    const std::int64_t owed_parts = owed_[i] * parts;
    if (owed_parts < whole) continue;
    // Both integers are exact as doubles, and a quotient is rounded alike everywhere.
    const double deadline =
        static_cast<double>(whole * (parts - 1) - owed_parts) / static_cast<double>(sources_[i].share);
    if (deadline < first_deadline) {
      first_deadline = deadline;
      drawn = i;
    }
  }
  check(drawn < sources_.size(), "some source of a mix is owed a row");
  owed_[drawn] -= whole;
  return drawn;
}

}  // namespace octet
