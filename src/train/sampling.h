// Which token comes next: a draw from logits, narrowed by the filters that the field has names for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fp8/bf16.h"

namespace octet {

/// Applied in this order. `temperature` divides the logits. `top_k` leaves the k greatest; of equals, those of lower
/// ids. `top_p` (Holtzman et al., "The curious case of neural text degeneration", 2020) leaves the fewest of the
/// likeliest tokens whose probabilities, renormalised over what top_k left, come to p or more; never fewer than one.
/// `min_p` (Nguyen et al., "Turning up the heat", 2024) leaves those at least min_p times as likely as the likeliest.
struct SamplingOptions {
  double temperature = 0.8;  ///< 0 takes the likeliest token, of equals that of the lowest id; no filter matters then
  std::int64_t top_k = 40;   ///< 0: all
  double top_p = 1;          ///< in [0, 1]; 1: all
  double min_p = 0;          ///< in [0, 1]; 0: all
  std::uint64_t seed = 1;
};

struct Candidate {
  std::int32_t token;
  double probability;
};

/// What the filters leave, their probabilities renormalised; the likeliest first, of equals that of the lowest id,
/// unless no filter is set: then by id. A logit of -inf is a token that never comes. Throws Failure where a logit is
/// NaN or +inf, or all are -inf: the model is broken, and no draw would say so.
[[nodiscard]] std::vector<Candidate> candidates(std::span<const bf16> logits, const SamplingOptions& options);

/// Draws from candidates() with the random number that (seed, stream, index) stand for, whatever was drawn before.
[[nodiscard]] std::int32_t sample(std::span<const bf16> logits, const SamplingOptions& options, std::uint64_t stream,
                                  std::uint64_t index);

}  // namespace octet
