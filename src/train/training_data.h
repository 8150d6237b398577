// The data that a configuration names, opened and checked before a run begins.
#pragma once

#include <optional>

#include "data/loader.h"
#include "data/mix.h"
#include "io/config.h"

namespace octet {

/// data.train in the shares of data.mix. Throws UserError for shards that are missing, damaged, too short or of a
/// larger vocabulary than the model's, for rules of a mix that do not fit, and where data.boundaries needs to know
/// documents that a shard does not know.
[[nodiscard]] Mix open_training_data(const Config& config);

/// data.validation; nothing where that is empty. Throws UserError as above, and for less than a micro-batch or no
/// target that counts.
[[nodiscard]] std::optional<ValidationLoader> open_validation_data(const Config& config);

}  // namespace octet
