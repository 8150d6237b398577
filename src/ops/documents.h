// Documents that lie one behind the other in the sequences of a batch.
#pragma once

#include <cstdint>

namespace octet::ops {

/// Where documents begin. A token attends to its own document alone, from `start` to itself. Positions in the sequence
/// count on: queries and keys are rotated against each other, so that only their distance matters.
struct Documents {
  /// [T]: for each token, the position in its sequence of the first token of its document. Not above the token's own
  /// position, and never falling within a sequence.
  const std::int32_t* start = nullptr;
  /// Whether `start` says anything: else each sequence is one document. In a plan pointers are null, and this is set.
  bool packed = false;
};

}  // namespace octet::ops
