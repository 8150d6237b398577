// What stands out in a watched step: the order of layers from worst to best, in one line and for a table.
#pragma once

#include <string>
#include <vector>

#include "io/run_files.h"

namespace octet::io {

/// The lower ratio of the two gradients, in dB. A NaN is lower than any number.
[[nodiscard]] double gradient_sqnr_db(const LayerNumerics& layer);

/// By the lowest of each layer's ratios; the order of the file where they are the same. Points into `watched`.
[[nodiscard]] std::vector<const LayerNumerics*> worst_first(const WatchedStep& watched);

/// "27.9 dB", or the word that watch.jsonl has for what is no number.
[[nodiscard]] std::string decibels_text(double ratio);

/// "worst output 27.9 dB (layers.3.attention.wo), worst gradient 24.0 dB (layers.0.feed_forward.w13)". Names stand as
/// they are in the file.
[[nodiscard]] std::string watch_summary(const WatchedStep& watched);

}  // namespace octet::io
