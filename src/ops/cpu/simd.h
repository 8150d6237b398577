// Sixteen lanes of 32 bits at every instruction set: the vector type that the memory-bound kernels are written in.
//
// This header is compiled once per instruction set, each time into a namespace of its own (OCTET_ISA). Everything in it
// is static and always inlined, so that the linker never takes AVX-512 code for a function of an older machine. The
// number of lanes, and with it the order of every sum, is the same at each level: so are the bits of every result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "fp8/bf16.h"

namespace octet::ops::cpu::OCTET_ISA {

using Index = std::int64_t;

inline constexpr Index kLanes = 16;

/// The widest register of the level: 64 bytes with AVX-512, 32 with AVX2, 16 in the baseline.
inline constexpr int kRegisterBytes = __BIGGEST_ALIGNMENT__ < 64 ? __BIGGEST_ALIGNMENT__ : 64;

/// 64 bytes of T in as many registers as they take. The compiler would split a 64-byte vector itself, but does so
/// element by element where lanes are compared or selected.
template <typename T>
struct Lanes {
  using Register [[gnu::vector_size(kRegisterBytes)]] = T;
  static constexpr int registers = 64 / kRegisterBytes;
  Register part[registers];
};

using F32 = Lanes<float>;
using U32 = Lanes<std::uint32_t>;
using I16 = Lanes<std::int16_t>;   // 32 lanes
using F64 = Lanes<double>;         // 8 lanes
using Mask = Lanes<std::int32_t>;  // all bits of a lane, or none

// ---- arithmetic -----------------------------------------------------------------------------------------------------

template <typename T>
[[gnu::always_inline]] static inline Lanes<T> splat(T value) {
  Lanes<T> result;
  for (auto& part : result.part) part = value - typename Lanes<T>::Register{};
  return result;
}

template <typename T>
[[gnu::always_inline]] static inline Lanes<T> operator+(Lanes<T> a, Lanes<T> b) {
  for (int i = 0; i < Lanes<T>::registers; ++i) a.part[i] += b.part[i];
  return a;
}

template <typename T>
[[gnu::always_inline]] static inline Lanes<T> operator-(Lanes<T> a, Lanes<T> b) {
  for (int i = 0; i < Lanes<T>::registers; ++i) a.part[i] -= b.part[i];
  return a;
}

template <typename T>
[[gnu::always_inline]] static inline Lanes<T> operator*(Lanes<T> a, Lanes<T> b) {
  for (int i = 0; i < Lanes<T>::registers; ++i) a.part[i] *= b.part[i];
  return a;
}

[[gnu::always_inline]] static inline F32 operator/(F32 a, F32 b) {
  for (int i = 0; i < F32::registers; ++i) a.part[i] /= b.part[i];
  return a;
}

template <typename T>
[[gnu::always_inline]] static inline Lanes<T> operator&(Lanes<T> a, Lanes<T> b) {
  for (int i = 0; i < Lanes<T>::registers; ++i) a.part[i] &= b.part[i];
  return a;
}

template <typename T>
[[gnu::always_inline]] static inline Lanes<T> operator|(Lanes<T> a, Lanes<T> b) {
  for (int i = 0; i < Lanes<T>::registers; ++i) a.part[i] |= b.part[i];
  return a;
}

[[gnu::always_inline]] static inline U32 operator<<(U32 a, int bits) {
  for (auto& part : a.part) part <<= bits;
  return a;
}

[[gnu::always_inline]] static inline U32 operator>>(U32 a, int bits) {
  for (auto& part : a.part) part >>= bits;
  return a;
}

[[gnu::always_inline]] static inline F32 operator*(F32 a, float b) {
  return a * splat(b);
}
[[gnu::always_inline]] static inline F32 operator+(F32 a, float b) {
  return a + splat(b);
}
[[gnu::always_inline]] static inline F32 operator-(F32 a, float b) {
  return a - splat(b);
}
[[gnu::always_inline]] static inline U32 operator+(U32 a, std::uint32_t b) {
  return a + splat(b);
}
[[gnu::always_inline]] static inline U32 operator-(U32 a, std::uint32_t b) {
  return a - splat(b);
}
[[gnu::always_inline]] static inline U32 operator&(U32 a, std::uint32_t b) {
  return a & splat(b);
}
[[gnu::always_inline]] static inline U32 operator|(U32 a, std::uint32_t b) {
  return a | splat(b);
}

[[gnu::always_inline]] static inline U32 bits_of(F32 x) {
  return __builtin_bit_cast(U32, x);
}
[[gnu::always_inline]] static inline F32 float_of(U32 bits) {
  return __builtin_bit_cast(F32, bits);
}

[[gnu::always_inline]] static inline F32 magnitude(F32 x) {
  return float_of(bits_of(x) & fp8::kFloatMagnitudeMask);
}

[[gnu::always_inline]] static inline F32 sqrt(F32 x) {
  for (auto& part : x.part) {
    for (int i = 0; i < kRegisterBytes / 4; ++i) part[i] = __builtin_sqrtf(part[i]);
  }
  return x;
}

// ---- comparison -----------------------------------------------------------------------------------------------------

/// False where either is NaN.
template <typename T>
[[gnu::always_inline]] static inline Mask operator>(Lanes<T> a, Lanes<T> b) {
  Mask result;
  for (int i = 0; i < Mask::registers; ++i) result.part[i] = a.part[i] > b.part[i];
  return result;
}

template <typename T>
[[gnu::always_inline]] static inline Mask operator>(Lanes<T> a, T b) {
  return a > splat(b);
}

template <typename T>
[[gnu::always_inline]] static inline Mask operator==(Lanes<T> a, T b) {
  Mask result;
  const Lanes<T> other = splat(b);
  for (int i = 0; i < Mask::registers; ++i) result.part[i] = a.part[i] == other.part[i];
  return result;
}

[[gnu::always_inline]] static inline Mask is_nan(F32 x) {
  Mask result;
  for (int i = 0; i < Mask::registers; ++i) result.part[i] = x.part[i] != x.part[i];
  return result;
}

/// Lanes of `a` where the mask is set, of `b` elsewhere.
template <typename T>
[[gnu::always_inline]] static inline Lanes<T> select(Mask mask, Lanes<T> a, Lanes<T> b) {
  for (int i = 0; i < Lanes<T>::registers; ++i) a.part[i] = mask.part[i] ? a.part[i] : b.part[i];
  return a;
}

/// Of floats: b where either is NaN.
template <typename T>
[[gnu::always_inline]] static inline Lanes<T> max(Lanes<T> a, Lanes<T> b) {
  for (int i = 0; i < Lanes<T>::registers; ++i) a.part[i] = a.part[i] > b.part[i] ? a.part[i] : b.part[i];
  return a;
}

template <typename T>
[[gnu::always_inline]] static inline Lanes<T> min(Lanes<T> a, Lanes<T> b) {
  for (int i = 0; i < Lanes<T>::registers; ++i) a.part[i] = a.part[i] < b.part[i] ? a.part[i] : b.part[i];
  return a;
}

[[gnu::always_inline]] static inline bool any(Mask mask) {
  std::uint64_t words[8];
  __builtin_memcpy(words, &mask, sizeof words);
  return (words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7]) != 0;
}

// ---- reductions across the lanes, in one fixed tree -----------------------------------------------------------------

template <unsigned half, typename T, typename Combine>
[[gnu::always_inline]] static inline void fold(T* lane, Combine combine) {
  for (unsigned i = 0; i < half; ++i) lane[i] = combine(lane[i], lane[i + half]);
  if constexpr (half > 1) fold<half / 2>(lane, combine);
}

template <typename T, typename Combine>
[[gnu::always_inline]] static inline T reduce(Lanes<T> x, Combine combine) {
  T lane[64 / sizeof(T)];
  __builtin_memcpy(lane, &x, sizeof lane);
  fold<32 / sizeof(T)>(lane, combine);
  return lane[0];
}

template <typename T>
[[gnu::always_inline]] static inline T sum(Lanes<T> x) {
  return reduce(x, [](T a, T b) { return a + b; });
}

template <typename T>
[[gnu::always_inline]] static inline T max(Lanes<T> x) {
  return reduce(x, [](T a, T b) { return a > b ? a : b; });
}

/// Lane 0.
[[gnu::always_inline]] static inline float first(F32 x) {
  return x.part[0][0];
}

// ---- memory ---------------------------------------------------------------------------------------------------------
// `count` is what is left of the row: from 16 on all lanes are read or written, below that the first `count`, and the
// other lanes of a load are zero.

/// 64 bytes, any type of lanes.
template <typename To>
[[gnu::always_inline]] static inline To load_64_bytes(const void* from) {
  To result;
  __builtin_memcpy(&result, from, sizeof result);
  return result;
}

[[gnu::always_inline]] static inline F32 load(const float* from, Index count = kLanes) {
  float padded[kLanes];
  if (count < kLanes) [[unlikely]] {
    __builtin_memset(padded, 0, sizeof padded);
    __builtin_memcpy(padded, from, static_cast<std::size_t>(count) * sizeof(float));
    from = padded;
  }
  return load_64_bytes<F32>(from);
}

[[gnu::always_inline]] static inline void store(float* to, F32 x, Index count = kLanes) {
  if (count >= kLanes) [[likely]] {
    __builtin_memcpy(to, &x, sizeof x);
  } else {
    __builtin_memcpy(to, &x, static_cast<std::size_t>(count) * sizeof(float));
  }
}

/// Unsigned words or bytes, one a lane. Written out element by element, because for this form compilers find the one
/// widening instruction.
template <typename T, std::size_t... lane>
[[gnu::always_inline]] static inline U32::Register widen_register(const T* from, std::index_sequence<lane...>) {
  return U32::Register{from[lane]...};
}

template <typename T>
[[gnu::always_inline]] static inline U32 widen(const T* from, Index count) {
  T padded[kLanes];
  if (count < kLanes) [[unlikely]] {
    __builtin_memset(padded, 0, sizeof padded);
    __builtin_memcpy(padded, from, static_cast<std::size_t>(count) * sizeof(T));
    from = padded;
  }
  U32 result;
  for (auto& part : result.part) {
    part = widen_register(from, std::make_index_sequence<kRegisterBytes / 4>());
    from += kRegisterBytes / 4;
  }
  return result;
}

[[gnu::always_inline]] static inline F32 load(const bf16* from, Index count = kLanes) {
  return float_of(widen(reinterpret_cast<const std::uint16_t*>(from), count) << 16);
}

/// The first `count` lanes of x; the others become `fill`.
[[gnu::always_inline]] static inline F32 keep(F32 x, Index count, float fill) {
  if (count >= kLanes) [[likely]]
    return x;
  float lane[kLanes];
  __builtin_memcpy(lane, &x, sizeof lane);
  for (Index i = count; i < kLanes; ++i) lane[i] = fill;
  return load_64_bytes<F32>(lane);
}

/// The lower halves of the lanes, side by side: 32 bytes.
[[gnu::always_inline]] static inline void store_lower_halves(void* to, U32 x) {
  using Words [[gnu::vector_size(kRegisterBytes / 2)]] = std::uint16_t;
  auto* bytes = static_cast<char*>(to);
  for (const auto& part : x.part) {
    const Words words = __builtin_convertvector(part, Words);
    __builtin_memcpy(bytes, &words, sizeof words);
    bytes += sizeof words;
  }
}

/// As octet::to_bf16: to nearest even, every NaN becomes 0x7FC0. The result lies in the lower halves.
[[gnu::always_inline]] static inline U32 round_to_bf16(F32 x) {
  const U32 bits = bits_of(x);
  const U32 lowest_kept_bit = (bits >> 16) & 1U;
  return select(is_nan(x), splat(0x7FC0U), (bits + 0x7FFFU + lowest_kept_bit) >> 16);
}

/// Stores what round_to_bf16() gives.
[[gnu::always_inline]] static inline void store_rounded(bf16* to, U32 rounded, Index count = kLanes) {
  if (count >= kLanes) [[likely]] {
    store_lower_halves(to, rounded);
  } else {
    bf16 all[kLanes];
    store_lower_halves(all, rounded);
    __builtin_memcpy(to, all, static_cast<std::size_t>(count) * sizeof(bf16));
  }
}

[[gnu::always_inline]] static inline void store(bf16* to, F32 x, Index count = kLanes) {
  store_rounded(to, round_to_bf16(x), count);
}

/// Eight floats in double.
[[gnu::always_inline]] static inline F64 load_doubles(const float* from) {
  using Floats [[gnu::vector_size(kRegisterBytes / 2)]] = float;
  F64 result;
  for (auto& part : result.part) {
    Floats floats;
    __builtin_memcpy(&floats, from, sizeof floats);
    part = __builtin_convertvector(floats, F64::Register);
    from += kRegisterBytes / 8;
  }
  return result;
}

}  // namespace octet::ops::cpu::OCTET_ISA
