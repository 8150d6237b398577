// A router's choices, their gradient, and the order in which routed rows lie. Small: logits are 4 bytes an expert of a
// token, choices 4 to 16 bytes each, and the rest stays on the multiprocessor. The same bits in every run: sums go in a
// fixed order, and what blocks add in any order are integers.
#include <cmath>

#include "kernels/grouped_arguments.h"
#include "kernels/prelude.h"

namespace octet::kernels {
namespace {

constexpr int kMostExperts = 1024;  // as src/ops/gpu/refusals.h has it
constexpr float kWeightFloor = 1e-20F;

template <typename T>
OCTET_DEVICE T warp_sum(T x) {
#pragma unroll
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) x += shuffle_xor(x, mask);
  return x;
}
OCTET_DEVICE float warp_largest(float x) {
#pragma unroll
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) x = fmaxf(x, shuffle_xor(x, mask));
  return x;
}

OCTET_DEVICE int lane() {
  return thread_index() % kWarpSize;
}
OCTET_DEVICE int warps() {
  return thread_count() / kWarpSize;
}

/// Calls work(e) for the experts of this lane: every kWarpSize-th. Such loops follow one another; what they shared of
/// addresses and masks of lanes would take registers all the while.
template <typename Work>
OCTET_DEVICE void for_own_experts(int experts, Work work) {
  for (int e = anew(lane()); e < experts; e += kWarpSize) work(e);
}

/// A token's scores, each kept by the lane whose expert it is of.
OCTET_DEVICE void make_scores(const float* logits, const RouterRule& rule, float* scores) {
  if (!rule.softmax) {
    for_own_experts(rule.experts, [&](int e) { scores[e] = 1.0F / (1.0F + expf(-logits[e])); });
    return;
  }
  float largest = -INFINITY;
  for_own_experts(rule.experts, [&](int e) { largest = fmaxf(largest, logits[e]); });
  largest = warp_largest(largest);
  float sum = 0;
  for_own_experts(rule.experts, [&](int e) {
    scores[e] = expf(logits[e] - largest);
    sum += scores[e];
  });
  sum = warp_sum(sum);
  for_own_experts(rule.experts, [&](int e) { scores[e] /= sum; });
}

// ---- the choice -----------------------------------------------------------------------------------------------------

// Keys order as floats do; below all of them come NaN, then experts of groups that were left out, then what was taken.
constexpr std::uint32_t kTaken = 0;
constexpr std::uint32_t kLeftOut = 1;
constexpr std::uint32_t kNan = 2;

OCTET_DEVICE std::uint32_t key_of(float x) {
  if (fp8::is_nan(x)) return kNan;
  const std::uint32_t bits = fp8::bits_of(x);
  return bits >> 31 != 0 ? ~bits : bits | 0x8000'0000U;
}
OCTET_DEVICE float value_of(std::uint32_t key) {
  if (key <= kNan) return fp8::quiet_nan();
  return fp8::float_of(key >> 31 != 0 ? key & 0x7FFF'FFFFU : ~key);
}

/// The greatest key of a warp's, and at equal keys the lowest index; all lanes learn of it.
struct Best {
  std::uint32_t key = kTaken;
  int index = 0x7FFF'FFFF;

  OCTET_DEVICE void take(std::uint32_t other_key, int other_index) {
    if (other_key < key || (other_key == key && other_index >= index)) return;
    key = other_key;
    index = other_index;
  }
  OCTET_DEVICE void of_warp() {
#pragma unroll
    for (int mask = kWarpSize / 2; mask > 0; mask /= 2) take(shuffle_xor(key, mask), shuffle_xor(index, mask));
  }
};

/// The key of the sum of a group's two best, or of its only one.
OCTET_DEVICE std::uint32_t group_key(const std::uint32_t* keys, int group, int size) {
  std::uint32_t best = kTaken;
  std::uint32_t second = kTaken;
  const auto take = [&](std::uint32_t key) {  // without branches, which would have AMD's compiler put both in scratch
    const std::uint32_t lesser = key < best ? key : best;
    second = second > lesser ? second : lesser;
    best = best > key ? best : key;
  };
  const int begin = group * size;
  const int skipped = (lane() - begin % kWarpSize + kWarpSize) % kWarpSize;  // to this lane's first expert of the group
  for (int e = begin + skipped; e < begin + size; e += kWarpSize) take(keys[e]);
#pragma unroll
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) {
    const std::uint32_t other_best = shuffle_xor(best, mask);
    const std::uint32_t other_second = shuffle_xor(second, mask);
    take(other_best);
    take(other_second);
  }
  return size == 1 ? best : key_of(value_of(best) + value_of(second));
}

/// Marks the experts of all but the kept groups as left out. Lane g knows group g.
OCTET_DEVICE void limit_to_groups(std::uint32_t* keys, const RouterRule& rule) {
  if (rule.kept_groups == rule.groups) return;
  const int size = rule.experts / rule.groups;
  std::uint32_t own = kTaken;
  for (int group = 0; group < rule.groups; ++group) {
    const std::uint32_t key = group_key(keys, group, size);
    if (group == lane()) own = key;
  }
  std::uint32_t kept = 0;
  for (int i = 0; i < rule.kept_groups; ++i) {
    Best best;
    best.take(own, lane());
    best.of_warp();
    kept |= 1U << best.index;
    if (best.index == lane()) own = kTaken;
  }
  for_own_experts(rule.experts, [&](int e) {
    if ((kept >> (e / size) & 1U) == 0) keys[e] = kLeftOut;
  });
}

/// One token, all of its warp's lanes.
OCTET_DEVICE void route_token(const Route& a, Index token, float* scores, std::uint32_t* keys) {
  const RouterRule& rule = a.rule;
  make_scores(a.logits + token * rule.experts, rule, scores);
  bool nan = false;
  for_own_experts(rule.experts, [&](int e) {
    keys[e] = key_of(a.bias == nullptr ? scores[e] : scores[e] + a.bias[e]);
    nan = nan || keys[e] == kNan;
  });
  const bool any_nan = warp_mask(nan) != 0;
  limit_to_groups(keys, rule);
  int expert = 0;  // lane k keeps choice k
  float weight = 0;
  float sum = 0;
  for (int k = 0; k < rule.top_k; ++k) {
    Best best;
    for_own_experts(rule.experts, [&](int e) { best.take(keys[e], e); });
    best.of_warp();
    float score = 0;
    if (best.index % kWarpSize == lane()) {
      score = scores[best.index];
      keys[best.index] = kTaken;
    }
    score = warp_sum(score);  // of one that is not zero
    sum += score;
    if (k != lane()) continue;
    expert = best.index;
    weight = score;
  }
  if (lane() >= rule.top_k) return;
  if (rule.normalised) weight /= sum + kWeightFloor;
  weight *= rule.scale;
  a.experts[token * rule.top_k + lane()] = expert;
  a.weights[token * rule.top_k + lane()] = any_nan ? fp8::quiet_nan() : weight;
  add_atomically(a.load + expert, 1);
}

/// A warp a token: scores and keys lie in shared memory, [2, experts] for each warp.
OCTET_DEVICE void route(const Route& a) {
  float* scores = static_cast<float*>(dynamic_shared()) + thread_index() / kWarpSize * 2 * a.rule.experts;
  auto* keys = reinterpret_cast<std::uint32_t*>(scores + a.rule.experts);
  const Index step = Index{block_count()} * warps();
  for (Index t = Index{block_index()} * warps() + thread_index() / kWarpSize; t < a.rows; t += step) {
    route_token(a, t, scores, keys);
  }
}

// ---- its gradient ---------------------------------------------------------------------------------------------------

OCTET_DEVICE void count_choices(const CountChoices& a) {
  const Index step = Index{block_count()} * thread_count();
  for (Index i = Index{block_index()} * thread_count() + thread_index(); i < a.choices; i += step) {
    add_atomically(a.counts + i / a.choices_per_sequence * a.expert_count + a.experts[i], 1);
  }
}

/// What the weights' gradients say about the scores of the choices, added to the others'.
OCTET_DEVICE void add_weight_gradients(const RouteBackward& a, Index token, const float* scores, float* dscores) {
  const RouterRule& rule = a.rule;
  const std::int32_t* experts = a.experts + token * rule.top_k;
  const float* dweights = a.dweights + token * rule.top_k;
  const auto own = [&](int k) { return experts[k] % kWarpSize == lane(); };
  float sum = 0;
  float weighted = 0;
  for (int k = 0; k < rule.top_k; ++k) {
    if (!own(k)) continue;
    sum += scores[experts[k]];
    weighted += dweights[k] * scores[experts[k]];
  }
  sum = warp_sum(sum) + kWeightFloor;
  weighted = warp_sum(weighted);
  for (int k = 0; k < rule.top_k; ++k) {
    if (!own(k)) continue;
    dscores[experts[k]] += rule.scale * (rule.normalised ? (dweights[k] - weighted / sum) / sum : dweights[k]);
  }
}

/// The balance loss's gradient, in place of what the scores' gradients were; returns the token's part of the loss.
OCTET_DEVICE double set_balance_gradients(const RouteBackward& a, Index token, const float* scores, float* dscores) {
  const int experts = a.rule.experts;
  const std::uint64_t* counts = a.counts + token / a.seq_len * experts;
  const float fraction =
      static_cast<float>(experts) / (static_cast<float>(a.rule.top_k) * static_cast<float>(a.seq_len));
  const auto f = [&](int e) { return fraction * static_cast<float>(counts[e]); };
  float sum = 0;
  float expected = 0;
  for_own_experts(experts, [&](int e) {
    sum += scores[e];
    expected += f(e) * scores[e];
  });
  sum = warp_sum(sum);
  expected = warp_sum(expected) / sum;
  const float share = a.balance_scale / static_cast<float>(a.seq_len);
  for_own_experts(experts, [&](int e) { dscores[e] = share * (f(e) - expected) / sum; });
  return static_cast<double>(share) * static_cast<double>(expected);
}

OCTET_DEVICE void route_backward(const RouteBackward& a) {
  OCTET_SHARED double losses[1024 / kWarpSize];
  const int experts = a.rule.experts;
  const int warp = thread_index() / kWarpSize;
  float* scores = static_cast<float*>(dynamic_shared()) + warp * 2 * experts;
  float* dscores = scores + experts;
  const Index step = Index{block_count()} * warps();
  double loss = 0;
  for (Index t = Index{block_index()} * warps() + warp; t < a.rows; t += step) {
    make_scores(a.logits + t * experts, a.rule, scores);
    if (a.counts != nullptr) {
      loss += set_balance_gradients(a, t, scores, dscores);
    } else {
      for_own_experts(experts, [&](int e) { dscores[e] = 0; });
    }
    add_weight_gradients(a, t, scores, dscores);
    float mean = 0;
    if (a.rule.softmax) {
      for_own_experts(experts, [&](int e) { mean += dscores[e] * scores[e]; });
      mean = warp_sum(mean);
    }
    for_own_experts(experts, [&](int e) {
      const float dlogit =
          a.rule.softmax ? scores[e] * (dscores[e] - mean) : dscores[e] * scores[e] * (1.0F - scores[e]);
      a.dlogits[t * experts + e] = dlogit;
    });
  }
  if (a.counts == nullptr) return;
  if (lane() == 0) losses[warp] = loss;
  sync_block();
  if (thread_index() != 0) return;
  double sum = 0;
  for (int w = 0; w < warps(); ++w) sum += losses[w];
  a.partials[block_index()] = sum;
}

/// One block. The mean load is compared without dividing: an expert that has it exactly keeps its bias.
OCTET_DEVICE void balance_bias(const BalanceBias& a) {
  OCTET_SHARED Index loads[kMostExperts];
  for (int e = thread_index(); e < a.experts; e += thread_count()) loads[e] = static_cast<Index>(a.load[e]);
  sync_block();
  Index total = 0;
  for (int e = 0; e < a.experts; ++e) total += loads[e];
  const auto sign = [&](int e) {
    const Index above = total - loads[e] * a.experts;
    return above > 0 ? 1 : above < 0 ? -1 : 0;
  };
  int signs = 0;
  for (int e = 0; e < a.experts; ++e) signs += sign(e);
  const float mean = a.rate * static_cast<float>(signs) / static_cast<float>(a.experts);
  for (int e = thread_index(); e < a.experts; e += thread_count()) {
    a.bias[e] += a.rate * static_cast<float>(sign(e)) - mean;
    a.load[e] = 0;
  }
}

// ---- the order of routed rows ---------------------------------------------------------------------------------------

constexpr int kChunk = 512;  // choices; as src/ops/gpu/routing.cpp has it

/// A block's chunk of choices, in shared memory, with no expert where there are no more.
OCTET_DEVICE void load_chunk(const GroupTokens& a, int (&chunk)[kChunk]) {
  const Index first = Index{block_index()} * kChunk;
  for (int i = thread_index(); i < kChunk; i += thread_count()) {
    chunk[i] = first + i < a.choices ? a.experts[first + i] : -1;
  }
  sync_block();
}

/// How many choices of the block's chunk each expert has, an expert a thread.
OCTET_DEVICE void count_group_tokens(const GroupTokens& a) {
  OCTET_SHARED int chunk[kChunk];
  load_chunk(a, chunk);
  for (int e = thread_index(); e < a.groups; e += thread_count()) {
    int count = 0;
    for (int i = 0; i < kChunk; ++i) count += chunk[i] == e ? 1 : 0;
    a.counts[Index{block_index()} * a.groups + e] = count;
  }
}

/// One block: the rows before each chunk's, of each expert, in place of its count; then offsets.
OCTET_DEVICE void place_groups(const GroupTokens& a) {
  constexpr std::int32_t kTile = 128;  // ops::kGroupTile
  OCTET_SHARED int sizes[kMostExperts];
  for (int e = thread_index(); e < a.groups; e += thread_count()) {
    int before = 0;
#pragma unroll 8
    for (int chunk = 0; chunk < a.chunks; ++chunk) {
      std::int32_t& count = a.counts[Index{chunk} * a.groups + e];
      const int of_chunk = count;
      count = before;
      before += of_chunk;
    }
    sizes[e] = before;
  }
  sync_block();
  if (thread_index() != 0) return;
  std::int32_t offset = 0;
  std::int32_t padded = 0;
  for (int e = 0; e < a.groups; ++e) {
    a.offsets[e] = offset;
    a.padded_offsets[e] = padded;
    offset += sizes[e];
    padded += (sizes[e] + kTile - 1) / kTile * kTile;
  }
  a.offsets[a.groups] = offset;
  a.padded_offsets[a.groups] = padded;
}

/// Rows for a chunk's choices, an expert a thread.
OCTET_DEVICE void hand_out_rows(const GroupTokens& a) {
  OCTET_SHARED int chunk[kChunk];
  load_chunk(a, chunk);
  const Index first = Index{block_index()} * kChunk;
  for (int e = thread_index(); e < a.groups; e += thread_count()) {
    std::int32_t row = a.offsets[e] + a.counts[Index{block_index()} * a.groups + e];
    for (int i = 0; i < kChunk; ++i) {
      if (chunk[i] != e) continue;
      a.row_of_choice[first + i] = row;
      a.choice_of_row[row] = static_cast<std::int32_t>(first + i);
      ++row;
    }
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(128, route, Route, route)
OCTET_SIMPLE_KERNEL(256, count_choices, CountChoices, count_choices)
OCTET_SIMPLE_KERNEL(128, route_backward, RouteBackward, route_backward)
OCTET_SIMPLE_KERNEL(1024, balance_bias, BalanceBias, balance_bias)
OCTET_SIMPLE_KERNEL(256, count_group_tokens, GroupTokens, count_group_tokens)
OCTET_SIMPLE_KERNEL(1024, place_groups, GroupTokens, place_groups)
OCTET_SIMPLE_KERNEL(256, hand_out_rows, GroupTokens, hand_out_rows)
