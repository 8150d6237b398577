// AdamW: an element is read and written once, 2 + 2 bytes of a bf16 weight (or 4 + 4 + 2 with a master), 2 or 4 of the
// gradient, 2 + 2 or 4 + 4 of each moment. Eight neighbours a thread.
#include <type_traits>

#include "core/random.h"
#include "core/rounding_bits.h"
#include "kernels/arguments.h"
#include "kernels/eight.h"

namespace octet::kernels {
namespace {

/// Eight neighbours as memory holds them, in registers: all are loaded before the first is used. `Full`: 16 bytes at a
/// time; else the first `count`, at any address.
template <typename T, bool Full>
struct Held;

template <bool Full>
struct Held<float, Full> {
  Eight x;

  OCTET_DEVICE Held(const float* from, Index count) {
    if constexpr (Full) {
      load_eight(from, x);
    } else {
      load_some(from, count, 0, x);
    }
  }
  OCTET_DEVICE void store(float* to, Index count) const {
    if constexpr (Full) {
      store_eight(to, x);
    } else {
      store_some(to, count, x);
    }
  }
  [[nodiscard]] OCTET_DEVICE float at(int i) const { return x[i]; }
  OCTET_DEVICE void set(int i, float value, std::uint32_t) { x[i] = value; }
};

template <bool Full>
struct Held<bf16, Full> {
  Vector words;

  OCTET_DEVICE Held() : words{} {}
  OCTET_DEVICE Held(const bf16* from, Index count) : words{} {
    if constexpr (Full) {
      words = load_16_bytes<Vector>(from);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (i < count) set_bits(i, from[i].bits);
      }
    }
  }
  OCTET_DEVICE void store(bf16* to, Index count) const {
    if constexpr (Full) {
      store_16_bytes(to, words);
    } else {
      store_some(to, count, words);
    }
  }
  [[nodiscard]] OCTET_DEVICE float at(int i) const {
    return i % 2 == 0 ? low_half(words.words[i / 2]) : high_half(words.words[i / 2]);
  }
  /// Rounds stochastically with the low 16 of the random bits.
  OCTET_DEVICE void set(int i, float value, std::uint32_t random) {
    set_bits(i, round_stochastically(value, static_cast<std::uint16_t>(random)).bits);
  }
  OCTET_DEVICE void set_bits(int i, std::uint16_t bits) {
    std::uint32_t& word = words.words[i / 2];
    word = i % 2 == 0 ? (word & 0xFFFF'0000U) | bits : (word & 0xFFFFU) | (static_cast<std::uint32_t>(bits) << 16);
  }
};

/// The settings of a step, as each element needs them.
struct Settings {
  float m_factor, root_v_factor;    // of a gradient in m, and in the root of what it adds to v
  float root_factor, root_summand;  // of the denominator: (sqrt(v / correction2) + eps) * correction1
  float learning_rate;
  std::uint64_t key;

  OCTET_DEVICE explicit Settings(const AdamW& a)
      : m_factor(a.scalars->clip_factor * (1.0F - a.beta1)),
        root_v_factor(a.scalars->clip_factor * sqrtf(1.0F - a.beta2)),
        root_factor(a.scalars->bias_correction1 / sqrtf(a.scalars->bias_correction2)),
        root_summand(a.eps * a.scalars->bias_correction1),
        learning_rate(a.scalars->learning_rate * a.lr_scale),
        key(a.scalars->rounding_key) {}
};

/// One element's moments and parameter, before the step and after.
struct Element {
  float parameter, m, v;

  OCTET_DEVICE void step(const AdamW& a, const Settings& set, float gradient) {
    const float root_of_added = gradient * set.root_v_factor;
    m = m * a.beta1 + gradient * set.m_factor;
    v = v * a.beta2 + root_of_added * root_of_added;
    const float direction = m * fast_reciprocal(fast_sqrt(v) * set.root_factor + set.root_summand);
    parameter -= (direction + parameter * a.weight_decay) * set.learning_rate;
  }
};

/// Elements [col, col + 8) of a row, or those that it has; returns the new weights.
template <typename Gradient, typename Moment, bool has_master, bool Full>
OCTET_DEVICE Vector update(const AdamW& a, const Settings& set, Index row, Index col) {
  const Index at = row * a.cols + col;
  const Index count = a.cols - col;
  auto* m_of = static_cast<Moment*>(a.m) + at;
  auto* v_of = static_cast<Moment*>(a.v) + at;
  const Held<Gradient, Full> gradient(static_cast<const Gradient*>(a.gradient) + at, count);
  Held<Moment, Full> m(m_of, count);
  Held<Moment, Full> v(v_of, count);
  using Parameter = std::conditional_t<has_master, float, bf16>;
  Parameter* parameter_of = nullptr;
  if constexpr (has_master) {
    parameter_of = a.master + at;
  } else {
    parameter_of = a.weight + at;
  }
  Held<Parameter, Full> parameter(parameter_of, count);
  Held<bf16, Full> weight;
  const auto block = static_cast<std::uint64_t>(row * ((a.cols + 3) / 4) + col / 4);
#pragma unroll
  for (int i = 0; i < 8; i += 4) {
    // As octet::rounding_bits lays them out. Where nothing is rounded with them, the words are not computed.
    const auto words = philox(set.key, block + static_cast<std::uint64_t>(i / 4), a.stream);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t random = words[static_cast<std::size_t>(j)];
      Element element{parameter.at(i + j), m.at(i + j), v.at(i + j)};
      element.step(a, set, gradient.at(i + j));
      m.set(i + j, element.m, random >> 16);
      v.set(i + j, element.v, (random * kMomentMultiplier) >> 16);
      parameter.set(i + j, element.parameter, random);
      // To nearest with to_bf16's one NaN: the same bits as the CPU makes of the same master.
      if constexpr (has_master) weight.set_bits(i + j, to_bf16(element.parameter).bits);
    }
  }
  m.store(m_of, count);
  v.store(v_of, count);
  parameter.store(parameter_of, count);
  if constexpr (has_master) {
    weight.store(a.weight + at, count);
    return weight.words;
  } else {
    return parameter.words;
  }
}

/// The words' magnitudes; elements from `count` on are zero.
OCTET_DEVICE Vector magnitudes(const Vector& x, Index count) {
  Vector result;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const std::uint32_t kept = 2 * w + 1 < count ? 0x7FFF'7FFFU : 2 * w < count ? 0x7FFFU : 0U;
    result.words[w] = x.words[w] & kept;
  }
  return result;
}

/// The largest of a warp's part of a row; one thread stores it.
OCTET_DEVICE void leave_row_part(const AdamW& a, const Vector& x, Index row, Index vector) {
  std::uint32_t halves = max_u16x2(max_u16x2(x.words[0], x.words[1]), max_u16x2(x.words[2], x.words[3]));
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) halves = max_u16x2(halves, shuffle_xor(halves, mask));
  const Index part = vector / kWarpSize;
  const Index parts = (a.cols + 8 * kWarpSize - 1) / (8 * kWarpSize);
  if (thread_index() % kWarpSize != 0 || part >= parts) return;
  const std::uint32_t low = halves & 0xFFFFU;
  const std::uint32_t high = halves >> 16;
  a.row_partials[row * parts + part].bits = static_cast<std::uint16_t>(low > high ? low : high);
}

/// Block (x, y) takes eight columns a thread and of its matrix's rows every blocks_each-th. Maxima are left by warp and
/// by block: nothing waits for anything in between.
template <typename Gradient, typename Moment, bool has_master>
OCTET_DEVICE void adamw(const AdamW& a) {
  const Settings set(a);
  const Index vector = Index{block_index()} * thread_count() + thread_index();
  const Index col = vector * 8;
  const bool full = a.aligned && col + 8 <= a.cols;
  Vector columns{};
  const Index first = block_index_y() / a.blocks_each * a.rows;
  for (Index row = first + block_index_y() % a.blocks_each; row < first + a.rows; row += a.blocks_each) {
    Vector weight{};
    if (full) {
      weight = update<Gradient, Moment, has_master, true>(a, set, row, col);
    } else if (col < a.cols) {
      weight = update<Gradient, Moment, has_master, false>(a, set, row, col);
    }
    if (a.row_partials == nullptr) continue;
    const Vector magnitude = magnitudes(weight, a.cols - col);
#pragma unroll
    for (int w = 0; w < 4; ++w) columns.words[w] = max_u16x2(columns.words[w], magnitude.words[w]);
    leave_row_part(a, magnitude, row, vector);
  }
  if (a.row_partials == nullptr || col >= a.cols) return;
  bf16* partials = a.column_partials + Index{block_index_y()} * a.cols + col;
  if (full) {
    store_16_bytes(partials, columns);
  } else {
    store_some(partials, a.cols - col, columns);
  }
}

}  // namespace
}  // namespace octet::kernels

// 80 registers a thread: every load of eight elements is under way before the first is used.
// Named after the parameter, the gradient and the moments.
OCTET_DENSE_SIMPLE_KERNEL(256, 3, adamw_master_f32_f32, AdamW, adamw<float, float, true>)
OCTET_DENSE_SIMPLE_KERNEL(256, 3, adamw_master_f32_bf16, AdamW, adamw<float, octet::bf16, true>)
OCTET_DENSE_SIMPLE_KERNEL(256, 3, adamw_master_bf16_f32, AdamW, adamw<octet::bf16, float, true>)
OCTET_DENSE_SIMPLE_KERNEL(256, 3, adamw_master_bf16_bf16, AdamW, adamw<octet::bf16, octet::bf16, true>)
OCTET_DENSE_SIMPLE_KERNEL(256, 3, adamw_alone_f32_f32, AdamW, adamw<float, float, false>)
OCTET_DENSE_SIMPLE_KERNEL(256, 3, adamw_alone_f32_bf16, AdamW, adamw<float, octet::bf16, false>)
OCTET_DENSE_SIMPLE_KERNEL(256, 3, adamw_alone_bf16_f32, AdamW, adamw<octet::bf16, float, false>)
OCTET_DENSE_SIMPLE_KERNEL(256, 3, adamw_alone_bf16_bf16, AdamW, adamw<octet::bf16, octet::bf16, false>)
