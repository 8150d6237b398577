// Sums and searches over whole tensors.
#include "ops/cpu/isa/kernels.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

/// Sixteen sums in double, element i in sum i % 16.
struct Sums {
  F64 low{}, high{};

  [[gnu::always_inline]] void add(F64 first_eight, F64 last_eight) {
    low = low + first_eight;
    high = high + last_eight;
  }
  [[gnu::always_inline]] double total() const { return sum(low + high); }
};

template <typename Map>
[[gnu::always_inline]] inline double sum_over(const float* x, Index begin, Index end, Map map) {
  Sums sums;
  Index i = begin;
  for (; i + kLanes <= end; i += kLanes) sums.add(map(load_doubles(x + i)), map(load_doubles(x + i + kLanes / 2)));
  if (i < end) {
    float padded[kLanes]{};
    __builtin_memcpy(padded, x + i, static_cast<std::size_t>(end - i) * sizeof(float));
    sums.add(map(load_doubles(padded)), map(load_doubles(padded + kLanes / 2)));
  }
  return sums.total();
}

/// Sixteen floats in double: a whole register at a time, which compilers widen in two instructions.
struct SixteenDoubles {
  F64 half[2];

  [[gnu::always_inline]] explicit SixteenDoubles(F32 x) {
    using Wide [[gnu::vector_size(2 * kRegisterBytes)]] = double;
    struct Two {
      F64::Register part[2];
    };
    for (int i = 0; i < F32::registers; ++i) {
      const Two two = __builtin_bit_cast(Two, __builtin_convertvector(x.part[i], Wide));
      for (int k = 0; k < 2; ++k) {
        const int place = 2 * i + k;
        half[place / F64::registers].part[place % F64::registers] = two.part[k];
      }
    }
  }
};

template <typename T>
[[gnu::always_inline]] inline void sum_difference(const T* reference, const T* x, Index begin, Index end,
                                                  double* energies) {
  Sums signal;
  Sums noise;
  for (Index i = begin; i < end; i += kLanes) {
    const SixteenDoubles wanted(load(reference + i, end - i));
    const SixteenDoubles got(load(x + i, end - i));
    const F64 low = got.half[0] - wanted.half[0];
    const F64 high = got.half[1] - wanted.half[1];
    signal.add(wanted.half[0] * wanted.half[0], wanted.half[1] * wanted.half[1]);
    noise.add(low * low, high * high);
  }
  energies[0] = signal.total();
  energies[1] = noise.total();
}

/// Calls found(first, count) on blocks until it is true, then looks for the element itself.
template <typename T, typename IsNonFinite>
[[gnu::always_inline]] inline Index find_first(const T* x, Index begin, Index end, IsNonFinite non_finite) {
  constexpr Index block = 32 * kLanes;
  for (Index start = begin; start < end; start += block) {
    const Index stop = start + block < end ? start + block : end;
    Mask found{};
    for (Index i = start; i < stop; i += kLanes) found = found | non_finite(load(x + i, stop - i));
    if (!any(found)) continue;
    for (Index i = start; i < stop; ++i) {
      if (any(non_finite(load(x + i, Index{1})))) return i;
    }
  }
  return -1;
}

[[gnu::always_inline]] inline Mask is_non_finite(F32 x) {
  return (bits_of(x) & fp8::kFloatInfinity) == std::uint32_t{fp8::kFloatInfinity};
}

}  // namespace

double sum_of_squares_bf16(const bf16* x, Index begin, Index end) {
  Sums sums;
  for (Index i = begin; i < end; i += kLanes) {
    const SixteenDoubles wide(load(x + i, end - i));
    sums.add(wide.half[0] * wide.half[0], wide.half[1] * wide.half[1]);
  }
  return sums.total();
}

double sum_of_squares_f32(const float* x, Index begin, Index end) {
  return sum_over(x, begin, end, [](F64 value) { return value * value; });
}

double sum_of_floats(const float* x, Index begin, Index end) {
  return sum_over(x, begin, end, [](F64 value) { return value; });
}

Index find_non_finite_bf16(const bf16* x, Index begin, Index end) {
  return find_first(x, begin, end, is_non_finite);
}

Index find_non_finite_f32(const float* x, Index begin, Index end) {
  return find_first(x, begin, end, is_non_finite);
}

void difference_bf16(const bf16* reference, const bf16* x, Index begin, Index end, double* energies) {
  sum_difference(reference, x, begin, end, energies);
}

void difference_f32(const float* reference, const float* x, Index begin, Index end, double* energies) {
  sum_difference(reference, x, begin, end, energies);
}

}  // namespace octet::ops::cpu::OCTET_ISA
