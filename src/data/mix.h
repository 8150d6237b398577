// Mix: sequences from several sources, each in its share, with an order and epochs of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/loader.h"

namespace octet {

/// The position of a Mix: what a checkpoint keeps.
struct MixState {
  struct Source {
    std::string rule;  ///< of data.mix; empty without a mix
    LoaderState position;
    bool operator==(const Source&) const = default;
  };
  std::vector<Source> sources;

  bool operator==(const MixState&) const = default;
};

/// Draws each row from one of its sources. After any number of rows, each source has given its share of them to within
/// less than one row: R. Tijdeman, "The chairman assignment problem", Discrete Mathematics 32 (1980). What is drawn
/// depends on the shares and on the number of rows so far alone, and needs no memory but a number for each source.
class Mix {
 public:
  struct Source {
    std::string rule;     ///< a name for the source in errors and checkpoints
    std::uint64_t share;  ///< of kWholeMix, see mix_rules.h
    Loader loader;
  };

  /// Loaders of the same seq_len that stand at their beginning; shares sum to kWholeMix.
  explicit Mix(std::vector<Source> sources);
  /// All from one source, which has no name.
  explicit Mix(Loader loader);

  [[nodiscard]] MixState state() const;
  /// Throws UserError where `state` is of other sources or weights, or where these data have no such position.
  void restore(const MixState& state);

  /// Throws UserError when a shard does not say where documents begin.
  void require_documents() const;

  /// Fills `batch`; N batches of one row are one batch of N rows.
  void next_batch(const TokenBatch& batch);

 private:
  [[nodiscard]] std::size_t draw();

  std::vector<Source> sources_;
  std::vector<std::int64_t> owed_;  // rows that each source has still to give for its share, times kWholeMix
};

}  // namespace octet
