// AdamW: parameters with an fp32 master or in bf16 alone, moments in fp32 or bf16, and the maxima of the new weight.
#include <type_traits>

#include "core/rounding_bits.h"
#include "ops/cpu/isa/cast.h"
#include "ops/cpu/isa/kernels.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

/// Elements that share one set of random blocks: four to a block, a block to a lane.
constexpr Index kElements = 4 * kLanes;

/// A random word for each of kElements neighbours; see octet::rounding_bits.
using RandomWords = std::uint32_t[kElements];

/// Sixteen Philox blocks from `block` on, as octet::philox makes them one by one.
[[gnu::always_inline]] inline void fill(RandomWords& words, std::uint64_t key, std::uint64_t block,
                                        std::uint64_t stream) {
  std::uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (Index lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t counter = block + static_cast<std::uint64_t>(lane);
    c0[lane] = static_cast<std::uint32_t>(counter);
    c1[lane] = static_cast<std::uint32_t>(counter >> 32);
    c2[lane] = static_cast<std::uint32_t>(stream);
    c3[lane] = static_cast<std::uint32_t>(stream >> 32);
  }
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (Index lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * c0[lane];
      const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * c2[lane];
      c0[lane] = static_cast<std::uint32_t>(product1 >> 32) ^ c1[lane] ^ k0;
      c1[lane] = static_cast<std::uint32_t>(product1);
      c2[lane] = static_cast<std::uint32_t>(product0 >> 32) ^ c3[lane] ^ k1;
      c3[lane] = static_cast<std::uint32_t>(product0);
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  for (Index lane = 0; lane < kLanes; ++lane) {
    words[4 * lane] = c0[lane];
    words[4 * lane + 1] = c1[lane];
    words[4 * lane + 2] = c2[lane];
    words[4 * lane + 3] = c3[lane];
  }
}

[[gnu::always_inline]] inline U32 load_words(const std::uint32_t* from) {
  return load_64_bytes<U32>(from);
}

/// As octet::round_stochastically, with the random bits in the lower halves of the lanes.
[[gnu::always_inline]] inline void store_rounded(bf16* to, F32 x, U32 random, Index count) {
  const U32 rounded = select(is_nan(x), splat(0x7FC0U), (bits_of(x) + (random & 0xFFFFU)) >> 16);
  if (count >= kLanes) [[likely]] {
    store_lower_halves(to, rounded);
  } else {
    bf16 all[kLanes];
    store_lower_halves(all, rounded);
    __builtin_memcpy(to, all, static_cast<std::size_t>(count) * sizeof(bf16));
  }
}

[[gnu::always_inline]] inline void store_rounded(float* to, F32 x, U32, Index count) {
  store(to, x, count);
}

/// The settings of a step, as each lane needs them.
struct Settings {
  F32 correction1, correction2, eps;
  float clip, beta1, beta2, weight_decay, learning_rate;
};

/// Elements [at, at + count), at most sixteen, with a random word in each lane.
template <typename Gradient, typename Moment, bool has_master>
[[gnu::always_inline]] inline void update(const AdamW& op, const Settings& set, Index at, Index count, U32 random) {
  auto* m_of = static_cast<Moment*>(op.m) + at;
  auto* v_of = static_cast<Moment*>(op.v) + at;
  const F32 gradient = load(static_cast<const Gradient*>(op.gradient) + at, count) * set.clip;
  const F32 m = load(m_of, count) * set.beta1 + gradient * (1.0F - set.beta1);
  const F32 v = load(v_of, count) * set.beta2 + gradient * gradient * (1.0F - set.beta2);
  const F32 step = (m / set.correction1) / (sqrt(v / set.correction2) + set.eps);
  F32 old;
  if constexpr (has_master) {
    old = load(op.master + at, count);
  } else {
    old = load(op.weight + at, count);
  }
  const F32 updated = old - (step + old * set.weight_decay) * set.learning_rate;
  store_rounded(m_of, m, random >> 16, count);
  store_rounded(v_of, v, (random * splat(kMomentMultiplier)) >> 16, count);
  if constexpr (has_master) {
    store(op.master + at, updated, count);
    store(op.weight + at, updated, count);
  } else {
    store_rounded(op.weight + at, updated, random, count);
  }
}

template <typename Gradient, typename Moment, bool has_master>
[[gnu::always_inline]] inline void update_row(const AdamW& op, const Settings& set, Index row) {
  constexpr bool kRandom = !has_master || std::is_same_v<Moment, bf16>;
  const auto blocks_per_row = static_cast<std::uint64_t>((op.cols + 3) / 4);
  RandomWords words{};
  for (Index col = 0; col < op.cols; col += kElements) {
    if constexpr (kRandom) {
      const auto block = static_cast<std::uint64_t>(row) * blocks_per_row + static_cast<std::uint64_t>(col / 4);
      fill(words, op.scalars->rounding_key, block, op.stream);
    }
    for (Index half = 0; half < kElements && col + half < op.cols; half += kLanes) {
      update<Gradient, Moment, has_master>(op, set, row * op.cols + col + half, op.cols - col - half,
                                           load_words(words + half));
    }
  }
}

template <typename Gradient, typename Moment, bool has_master>
void update_rows(const AdamW& op, Index begin, Index end, std::uint16_t* column_maxima) {
  const StepScalars& step = *op.scalars;
  const Settings set{.correction1 = splat(step.bias_correction1),
                     .correction2 = splat(step.bias_correction2),
                     .eps = splat(op.eps),
                     .clip = step.clip_factor,
                     .beta1 = op.beta1,
                     .beta2 = op.beta2,
                     .weight_decay = op.weight_decay,
                     .learning_rate = step.learning_rate * op.lr_scale};
  for (Index row = begin; row < end; ++row) {
    update_row<Gradient, Moment, has_master>(op, set, row);
    if (!op.measures) continue;
    const bf16* weight = op.weight + row * op.cols;
    op.row_amax[row] = bf16{largest_magnitude(weight, op.cols)};
    fold_columns(weight, op.cols, column_maxima);
  }
}

template <typename Gradient, typename Moment>
void update_parameter(const AdamW& op, Index begin, Index end, std::uint16_t* column_maxima) {
  op.has_master ? update_rows<Gradient, Moment, true>(op, begin, end, column_maxima)
                : update_rows<Gradient, Moment, false>(op, begin, end, column_maxima);
}

template <typename Gradient>
void update_with(const AdamW& op, Index begin, Index end, std::uint16_t* column_maxima) {
  op.moments == DType::bf16 ? update_parameter<Gradient, bf16>(op, begin, end, column_maxima)
                            : update_parameter<Gradient, float>(op, begin, end, column_maxima);
}

}  // namespace

void adamw(const AdamW& op, Index begin, Index end, std::uint16_t* column_maxima) {
  op.gradients == DType::bf16 ? update_with<bf16>(op, begin, end, column_maxima)
                              : update_with<float>(op, begin, end, column_maxima);
}

}  // namespace octet::ops::cpu::OCTET_ISA
