#include "train/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/random.h"

namespace octet {
namespace {

/// The greatest logit. What candidates() refuses is refused here.
float greatest(std::span<const bf16> logits) {
  float greatest = -std::numeric_limits<float>::infinity();
  std::size_t broken = 0;
  for (const bf16 logit : logits) {
    const float value = to_float(logit);
    if (std::isnan(value) || value == std::numeric_limits<float>::infinity()) ++broken;
    greatest = std::max(greatest, value);
  }
  if (broken > 0) {
    throw Failure("{} of {} logits are NaN or infinite: the model's weights are broken, or its recipe overflows",
                  broken, logits.size());
  }
  if (std::isinf(greatest)) throw Failure("all {} logits are -inf: no token can follow", logits.size());
  return greatest;
}

/// Whether b comes before a.
bool comes_later(const Candidate& a, const Candidate& b) {
  return a.probability != b.probability ? a.probability < b.probability : a.token > b.token;
}

/// Takes the likeliest tokens off a heap. Sorting the whole vocabulary would take longer than a small model's step.
class Likeliest {
 public:
  explicit Likeliest(std::vector<Candidate> all) : heap_(std::move(all)) {
    std::make_heap(heap_.begin(), heap_.end(), comes_later);
  }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Candidate take() {
    std::pop_heap(heap_.begin(), heap_.end(), comes_later);
    const Candidate next = heap_.back();
    heap_.pop_back();
    return next;
  }

 private:
  std::vector<Candidate> heap_;
};

std::vector<Candidate> keep_top_k(std::vector<Candidate> all, std::int64_t k) {
  Likeliest likeliest(std::move(all));
  std::vector<Candidate> kept;
  while (!likeliest.empty() && std::ssize(kept) < k) kept.push_back(likeliest.take());
  return kept;
}

double total_of(std::span<const Candidate> all) {
  double total = 0;
  for (const Candidate& each : all) total += each.probability;
  return total;
}

std::vector<Candidate> keep_top_p(std::vector<Candidate> all, double p) {
  const double enough = p * total_of(all);
  Likeliest likeliest(std::move(all));
  std::vector<Candidate> kept{likeliest.take()};
  double sum = kept.front().probability;
  while (!likeliest.empty() && sum < enough) {
    kept.push_back(likeliest.take());
    sum += kept.back().probability;
  }
  return kept;
}

std::vector<Candidate> keep_min_p(std::vector<Candidate> all, double p) {
  double most = 0;
  for (const Candidate& each : all) most = std::max(most, each.probability);
  std::erase_if(all, [&](const Candidate& each) { return each.probability < p * most; });
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return comes_later(b, a); });
  return all;
}

}  // namespace

std::vector<Candidate> candidates(std::span<const bf16> logits, const SamplingOptions& options) {
  const float most = greatest(logits);
  std::vector<Candidate> kept;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double distance = static_cast<double>(to_float(logits[i])) - static_cast<double>(most);
    const double weight = options.temperature > 0 ? std::exp(distance / options.temperature) : (distance < 0 ? 0 : 1);
    if (weight > 0) kept.push_back({static_cast<std::int32_t>(i), weight});
  }
  if (options.temperature <= 0) {
    kept.resize(1);  // of equals, the lowest id comes first
  } else {
    if (options.top_k > 0) kept = keep_top_k(std::move(kept), options.top_k);
    if (options.top_p < 1) kept = keep_top_p(std::move(kept), options.top_p);
    if (options.min_p > 0) kept = keep_min_p(std::move(kept), options.min_p);
  }
  const double total = total_of(kept);
  for (Candidate& each : kept) each.probability /= total;
  return kept;
}

std::int32_t sample(std::span<const bf16> logits, const SamplingOptions& options, std::uint64_t stream,
                    std::uint64_t index) {
  const std::vector<Candidate> from = candidates(logits, options);
  // 53 bits, so that no token of a large vocabulary is too unlikely to come.
  const auto words = philox(options.seed, index, stream_of("sampling") + stream);
  const std::uint64_t bits = (std::uint64_t{words[0]} << 21U) | (words[1] >> 11U);
  double left = (static_cast<double>(bits) + 0.5) / 9007199254740992.0;
  for (const Candidate& each : from) {
    left -= each.probability;
    if (left < 0) return each.token;
  }
  return from.back().token;  // what rounding left over
}

}  // namespace octet
