// The table of rotary cosines and sines, with the frequency scaling of Llama 3.1.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace octet::ops {

/// Stretches slow frequencies so that a model trained on `original_max_seq_len` positions reads longer texts
/// (Llama 3.1). A frequency that turns at least high_freq_factor times within the original length is kept, one that
/// turns at most low_freq_factor times is divided by `factor`; between the two, kept and divided are mixed linearly in
/// the turns.
struct RopeScaling {
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  std::int64_t original_max_seq_len = 8192;
};

/// Radians per position of each pair, [head_dim / 2]: theta^(-2i / head_dim), scaled.
/// Throws Failure unless head_dim is even, theta and factor are positive and low_freq_factor < high_freq_factor.
[[nodiscard]] std::vector<double> rope_frequencies(std::int64_t head_dim, double theta,
                                                   const std::optional<RopeScaling>& scaling);

/// [seq_len, head_dim]: row p holds cos(p * frequency[i]) in its first half and sin(p * frequency[i]) in its second,
/// computed in double and rounded once.
[[nodiscard]] std::vector<float> rope_table(std::int64_t seq_len, std::int64_t head_dim, double theta,
                                            const std::optional<RopeScaling>& scaling);

}  // namespace octet::ops
