// The table of rotary cosines and sines, with the frequency scalings of Llama 3.1 and of YaRN.
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

/// YaRN (Peng et al., 2023) as DeepSeek applies it: a frequency that turns more than beta_fast times within the
/// original length is kept, one that turns fewer than beta_slow times is divided by `factor`; between the pairs where
/// that happens, kept and divided are mixed linearly in the pair's index.
struct YarnScaling {
  double factor = 40;
  std::int64_t original_max_seq_len = 4096;
  double beta_fast = 32;
  double beta_slow = 1;
  double mscale = 1;
  double mscale_all_dim = 1;

  /// What the rotated parts of queries and keys grow by.
  [[nodiscard]] double rotated_magnitude() const { return growth(mscale) / growth(mscale_all_dim); }
  /// What attention's scale grows by.
  [[nodiscard]] double attention_growth() const { return growth(mscale_all_dim) * growth(mscale_all_dim); }

 private:
  [[nodiscard]] double growth(double weight) const;
};

/// The same with YaRN. Throws Failure unless dim is even, theta is above 1, factor at least 1 and beta_slow <
/// beta_fast.
[[nodiscard]] std::vector<double> yarn_frequencies(std::int64_t dim, double theta, const YarnScaling& scaling);

/// [seq_len, 2 n] of n frequencies: as below, times `magnitude`.
[[nodiscard]] std::vector<float> rope_table(std::int64_t seq_len, const std::vector<double>& frequencies,
                                            double magnitude);

/// [seq_len, head_dim]: row p holds cos(p * frequency[i]) in its first half and sin(p * frequency[i]) in its second,
/// computed in double and rounded once.
[[nodiscard]] std::vector<float> rope_table(std::int64_t seq_len, std::int64_t head_dim, double theta,
                                            const std::optional<RopeScaling>& scaling);

}  // namespace octet::ops
