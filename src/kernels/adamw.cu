// AdamW: an element is read and written once, 2 + 2 bytes of a bf16 weight (or 4 + 4 + 2 with a master), 4 of the
// gradient, 2 + 2 or 4 + 4 of each moment. Eight neighbours a thread.
#include "core/random.h"
#include "kernels/arguments.h"
#include "kernels/eight.h"

namespace octet::kernels {
namespace {

/// The random bits of eight neighbours, as octet::ops::AdamW lays them out: two elements a Philox block.
struct RandomWords {
  std::uint32_t first[8];   // of the weight in the low half, of m in the high half
  std::uint32_t second[8];  // of v in the low half

  OCTET_DEVICE void fill(std::uint64_t key, std::uint64_t block, std::uint64_t stream) {
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      const auto words = philox(key, block + static_cast<std::uint64_t>(pair), stream);
      first[2 * pair] = words[0];
      second[2 * pair] = words[1];
      first[2 * pair + 1] = words[2];
      second[2 * pair + 1] = words[3];
    }
  }
};

OCTET_DEVICE std::uint32_t round_with(float x, std::uint32_t random) {
  return round_stochastically(x, static_cast<std::uint16_t>(random)).bits;
}

/// Eight floats rounded with the low 16 of `random >> shift`.
OCTET_DEVICE Vector round_eight(const Eight& x, const std::uint32_t (&random)[8], int shift) {
  Vector vector;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    vector.words[w] =
        round_with(x[2 * w], random[2 * w] >> shift) | (round_with(x[2 * w + 1], random[2 * w + 1] >> shift) << 16);
  }
  return vector;
}

/// To nearest, with the one NaN of to_bf16: a weight has the same bits as the CPU's rounding of the same master.
OCTET_DEVICE Vector round_to_nearest(const Eight& x) {
  Vector vector;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    vector.words[w] = to_bf16(x[2 * w]).bits | (static_cast<std::uint32_t>(to_bf16(x[2 * w + 1]).bits) << 16);
  }
  return vector;
}

/// Loads and stores eight elements, or the first `count` of them at any address.
template <bool Full, typename T>
OCTET_DEVICE void load_part(const T* from, Index count, Eight& x) {
  if constexpr (Full) {
    load_eight(from, x);
  } else {
    load_some(from, count, 0, x);
  }
}
template <bool Full>
OCTET_DEVICE void store_part(float* to, Index count, const Eight& x) {
  if constexpr (Full) {
    store_eight(to, x);
  } else {
    store_some(to, count, x);
  }
}
template <bool Full>
OCTET_DEVICE void store_part(bf16* to, Index count, const Vector& x) {
  if constexpr (Full) {
    store_16_bytes(to, x);
  } else {
    store_some(to, count, x);
  }
}
template <bool Full>
OCTET_DEVICE void store_moment(float* to, Index count, const Eight& x, const std::uint32_t (&)[8], int) {
  store_part<Full>(to, count, x);
}
template <bool Full>
OCTET_DEVICE void store_moment(bf16* to, Index count, const Eight& x, const std::uint32_t (&random)[8], int shift) {
  store_part<Full>(to, count, round_eight(x, random, shift));
}

template <typename A, typename B>
struct IsSame {
  static constexpr bool value = false;
};
template <typename A>
struct IsSame<A, A> {
  static constexpr bool value = true;
};

/// The settings of a step, as each element needs them.
struct Settings {
  float clip, correction1, correction2, learning_rate;
  std::uint64_t key;

  OCTET_DEVICE explicit Settings(const AdamW& a)
      : clip(a.scalars->clip_factor),
        correction1(1.0F / a.scalars->bias_correction1),
        correction2(1.0F / a.scalars->bias_correction2),
        learning_rate(a.scalars->learning_rate * a.lr_scale),
        key(a.scalars->rounding_key) {}
};

/// Moments and parameter of eight elements after the step.
OCTET_DEVICE void step_eight(const AdamW& a, const Settings& set, const Eight& gradient, Eight& parameter, Eight& m,
                             Eight& v) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float g = gradient[i] * set.clip;
    m[i] = m[i] * a.beta1 + g * (1.0F - a.beta1);
    v[i] = v[i] * a.beta2 + g * g * (1.0F - a.beta2);
    const float step = fast_divide(m[i] * set.correction1, sqrtf(v[i] * set.correction2) + a.eps);
    parameter[i] -= (step + parameter[i] * a.weight_decay) * set.learning_rate;
  }
}

/// Elements [col, col + 8) of a row, or those that it has; returns the new weights.
template <typename Moment, bool has_master, bool Full>
OCTET_DEVICE Vector update(const AdamW& a, const Settings& set, Index row, Index col) {
  const Index at = row * a.cols + col;
  const Index count = a.cols - col;
  auto* m_of = static_cast<Moment*>(a.m) + at;
  auto* v_of = static_cast<Moment*>(a.v) + at;
  Eight gradient;
  Eight parameter;
  Eight m;
  Eight v;
  load_part<Full>(a.gradient + at, count, gradient);
  if constexpr (has_master) {
    load_part<Full>(a.master + at, count, parameter);
  } else {
    load_part<Full>(static_cast<const bf16*>(a.weight) + at, count, parameter);
  }
  load_part<Full>(static_cast<const Moment*>(m_of), count, m);
  load_part<Full>(static_cast<const Moment*>(v_of), count, v);
  RandomWords random;
  if constexpr (!has_master || IsSame<Moment, bf16>::value) {
    random.fill(set.key, static_cast<std::uint64_t>(row * ((a.cols + 1) / 2) + col / 2), a.stream);
  }
  step_eight(a, set, gradient, parameter, m, v);
  store_moment<Full>(m_of, count, m, random.first, 16);
  store_moment<Full>(v_of, count, v, random.second, 0);
  Vector weight;
  if constexpr (has_master) {
    store_part<Full>(a.master + at, count, parameter);
    weight = round_to_nearest(parameter);
  } else {
    weight = round_eight(parameter, random.first, 0);
  }
  store_part<Full>(a.weight + at, count, weight);
  return weight;
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

/// Block (x, y) takes eight columns a thread and the rows y, y + blocks_y, ... of them. Maxima are left by warp and by
/// block: nothing waits for anything in between.
template <typename Moment, bool has_master>
OCTET_DEVICE void adamw(const AdamW& a) {
  const Settings set(a);
  const Index vector = Index{block_index()} * thread_count() + thread_index();
  const Index col = vector * 8;
  const bool full = a.aligned && col + 8 <= a.cols;
  Vector columns{};
  for (Index row = block_index_y(); row < a.rows; row += block_count_y()) {
    Vector weight{};
    if (full) {
      weight = update<Moment, has_master, true>(a, set, row, col);
    } else if (col < a.cols) {
      weight = update<Moment, has_master, false>(a, set, row, col);
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

OCTET_SIMPLE_KERNEL(256, adamw_master_f32, AdamW, adamw<float, true>)
OCTET_SIMPLE_KERNEL(256, adamw_master_bf16, AdamW, adamw<octet::bf16, true>)
OCTET_SIMPLE_KERNEL(256, adamw_alone_f32, AdamW, adamw<float, false>)
OCTET_SIMPLE_KERNEL(256, adamw_alone_bf16, AdamW, adamw<octet::bf16, false>)
