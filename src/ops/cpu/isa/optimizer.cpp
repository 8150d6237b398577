// The optimizer step and the sums and searches over whole tensors of floats.
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

double sum_of_squares(const float* x, Index begin, Index end) {
  return sum_over(x, begin, end, [](F64 value) { return value * value; });
}

double sum_of_floats(const float* x, Index begin, Index end) {
  return sum_over(x, begin, end, [](F64 value) { return value; });
}

void adamw(const AdamW& op, Index begin, Index end) {
  const StepScalars step = *op.scalars;
  const F32 eps = splat(op.eps);
  const F32 correction1 = splat(step.bias_correction1);
  const F32 correction2 = splat(step.bias_correction2);
  for (Index i = begin; i < end; i += kLanes) {
    const Index count = end - i;
    const F32 gradient = load(op.gradient + i, count) * step.clip_factor;
    const F32 m = load(op.m + i, count) * op.beta1 + gradient * (1.0F - op.beta1);
    const F32 v = load(op.v + i, count) * op.beta2 + gradient * gradient * (1.0F - op.beta2);
    const F32 update = (m / correction1) / (sqrt(v / correction2) + eps);
    const F32 old = load(op.master + i, count);
    const F32 master = old - (update + old * op.weight_decay) * step.learning_rate;
    store(op.m + i, m, count);
    store(op.v + i, v, count);
    store(op.master + i, master, count);
    store(op.weight + i, master, count);
  }
}

Index find_non_finite_bf16(const bf16* x, Index begin, Index end) {
  return find_first(x, begin, end, is_non_finite);
}

Index find_non_finite_f32(const float* x, Index begin, Index end) {
  return find_first(x, begin, end, is_non_finite);
}

}  // namespace octet::ops::cpu::OCTET_ISA
