// Sums and searches over whole tensors, each in two launches: a part for each block, then all parts in order. What a
// block goes through depends on sizes alone, so that a sum has the same bits each time. Reads every element once.
#include "kernels/arguments.h"
#include "kernels/block_fold.h"
#include "kernels/prelude.h"

namespace octet::kernels {
namespace {

constexpr int kAtOnce = 4;  // vectors in flight a thread

/// The vectors of 16 bytes of a grid's thread: start, start + step, ...
struct Stride {
  Index start, step;

  OCTET_DEVICE Stride()
      : start(Index{block_index()} * thread_count() + thread_index()), step(Index{block_count()} * thread_count()) {}
};

// ---- sums in double -------------------------------------------------------------------------------------------------

/// Sums of what Map makes of floats: products of two are exact, and the conversions stay behind the memory.
template <typename Map>
class FloatSum {
 public:
  using Element = float;

  OCTET_DEVICE void add(const Vector& x) {
#pragma unroll
    for (int w = 0; w < 4; ++w) sums_[w] += Map::of(static_cast<double>(fp8::float_of(x.words[w])));
  }
  OCTET_DEVICE void add(float x) {
    sums_[0] += Map::of(static_cast<double>(x));
  }
  [[nodiscard]] OCTET_DEVICE double total() const {
    return (sums_[0] + sums_[1]) + (sums_[2] + sums_[3]);
  }

 private:
  double sums_[4] = {};
};

struct Itself {
  static OCTET_DEVICE double of(double x) { return x; }
};
struct Square {
  static OCTET_DEVICE double of(double x) { return x * x; }
};

/// A bf16 magnitude whose bits stand where a double has its exponent and mantissa, at the top of `high`. Its exponent
/// then means 2^-896 times what it meant, of subnormals and zero as well, which one exact product mends.
OCTET_DEVICE constexpr double widen_magnitude(std::uint32_t high) {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(high) << 32) * 0x1p896;
}
static_assert(widen_magnitude(0x0000U << 13) == 0);
static_assert(widen_magnitude(0x0001U << 13) == 0x1p-133);  // the smallest subnormal
static_assert(widen_magnitude(0x3F80U << 13) == 1);
static_assert(widen_magnitude(0x7F7FU << 13) == 0x1.FEp127);  // the largest number

/// Sums of squares of bf16, exact until they are added, over all of its range. A multiprocessor converts to double at a
/// quarter of the rate at which it multiplies, and there are two values in a word: integers and one product do the
/// same. They make a large number of an infinity or a NaN, so the largest magnitude says in the end whether there was
/// one.
class HalfSquares {
 public:
  using Element = bf16;

  OCTET_DEVICE void add(const Vector& x) {
#pragma unroll
    for (int w = 0; w < 4; ++w) add(x.words[w], sums_[w]);
  }
  OCTET_DEVICE void add(bf16 x) {
    add(x.bits, sums_[0]);
  }
  [[nodiscard]] OCTET_DEVICE double total() const {
    constexpr std::uint32_t kInfinity = fp8::kFloatInfinity >> 16;
    const std::uint32_t low = largest_ & 0xFFFFU;
    const std::uint32_t high = largest_ >> 16;
    const std::uint32_t largest = low > high ? low : high;
    if (largest >= kInfinity) return static_cast<double>(fp8::float_of(largest << 16));
    return (sums_[0] + sums_[1]) + (sums_[2] + sums_[3]);
  }

 private:
  OCTET_DEVICE void add(std::uint32_t word, double& sum) {
    constexpr std::uint32_t kAtTheTop = 0x7FFFU << 13;
    const double low = widen_magnitude((word << 13) & kAtTheTop);
    const double high = widen_magnitude((word >> 3) & kAtTheTop);
    sum += low * low;
    sum += high * high;
    largest_ = max_u16x2(largest_, word & 0x7FFF'7FFFU);
  }

  double sums_[4] = {};
  std::uint32_t largest_ = 0;
};

template <typename Sum>
OCTET_DEVICE void sum_partials(const SumPartials& a) {
  OCTET_SHARED double parts[BlockFold<double>::kParts];
  BlockFold<double> fold(parts);
  using Element = typename Sum::Element;
  constexpr int kEach = 16 / sizeof(Element);
  const Stride stride;
  const Element* all = static_cast<const Element*>(a.x);
  const Index vectors = a.aligned ? a.count / kEach : 0;
  Sum sum;
  Index v = stride.start;
  for (; v + (kAtOnce - 1) * stride.step < vectors; v += kAtOnce * stride.step) {
    Vector x[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) x[k] = load_16_bytes<Vector>(all + (v + k * stride.step) * kEach);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) sum.add(x[k]);
  }
  for (; v < vectors; v += stride.step) sum.add(load_16_bytes<Vector>(all + v * kEach));
  for (Index i = vectors * kEach + stride.start; i < a.count; i += stride.step) sum.add(all[i]);
  const double total = fold.sum(sum.total());
  if (thread_index() == 0) a.partials[block_index()] = total;
}

OCTET_DEVICE double wide(float x) {
  return static_cast<double>(x);
}
OCTET_DEVICE double wide(bf16 x) {
  return static_cast<double>(to_float(x));
}

/// Neighbouring threads read neighbouring elements of both tensors. Run where numbers are watched, not in every step.
template <typename T>
OCTET_DEVICE void difference(const DifferencePartials& a) {
  OCTET_SHARED double parts[BlockFold<double>::kParts];
  BlockFold<double> fold(parts);
  const Stride stride;
  const T* reference = static_cast<const T*>(a.reference);
  const T* x = static_cast<const T*>(a.x);
  double signal = 0;
  double noise = 0;
  for (Index i = stride.start; i < a.count; i += stride.step) {
    const double expected = wide(reference[i]);
    const double off = wide(x[i]) - expected;
    signal += expected * expected;
    noise += off * off;
  }
  signal = fold.sum(signal);
  noise = fold.sum(noise);
  if (thread_index() != 0) return;
  a.partials[block_index()] = signal;
  a.partials[block_count() + block_index()] = noise;
}

/// One block.
OCTET_DEVICE void finish_sum(const FinishSum& a) {
  OCTET_SHARED double parts[BlockFold<double>::kParts];
  BlockFold<double> fold(parts);
  double sum = 0;
  for (int i = thread_index(); i < a.count; i += thread_count()) sum += a.partials[i];
  sum = fold.sum(sum);
  if (thread_index() == 0) a.total[0] += a.scale * sum;
}

// ---- the first NaN or infinity --------------------------------------------------------------------------------------

constexpr Index kNowhere = INT64_MAX;

OCTET_DEVICE bool is_non_finite(float x) {
  return (fp8::bits_of(x) & fp8::kFloatInfinity) == fp8::kFloatInfinity;
}
OCTET_DEVICE bool is_non_finite(bf16 x) {
  return is_non_finite(to_float(x));
}

/// Where in a vector of T the first is; -1 where all are finite.
OCTET_DEVICE int find_in(const Vector& x, float) {
  int place = -1;
#pragma unroll
  for (int w = 3; w >= 0; --w) {
    if (is_non_finite(fp8::float_of(x.words[w]))) place = w;
  }
  return place;
}
OCTET_DEVICE int find_in(const Vector& x, bf16) {
  int place = -1;
#pragma unroll
  for (int w = 3; w >= 0; --w) {
    if (is_non_finite(high_half(x.words[w]))) place = 2 * w + 1;
    if (is_non_finite(low_half(x.words[w]))) place = 2 * w;
  }
  return place;
}

/// A thread's places rise, so the first that it finds is its least.
template <typename T>
OCTET_DEVICE Index find(const Search& a) {
  constexpr int kEach = 16 / sizeof(T);
  const Stride stride;
  const T* x = static_cast<const T*>(a.x);
  const Index vectors = a.aligned ? a.count / kEach : 0;
  for (Index v = stride.start; v < vectors; v += kAtOnce * stride.step) {
    Vector loaded[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const Index at = v + k * stride.step;
      loaded[k] = at < vectors ? load_16_bytes<Vector>(x + at * kEach) : Vector{};
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int place = find_in(loaded[k], T{});
      if (place >= 0) return (v + k * stride.step) * kEach + place;
    }
  }
  for (Index i = vectors * kEach + stride.start; i < a.count; i += stride.step) {
    if (is_non_finite(x[i])) return i;
  }
  return kNowhere;
}

template <typename T>
OCTET_DEVICE void find_non_finite(const Search& a) {
  OCTET_SHARED Index parts[BlockFold<Index>::kParts];
  BlockFold<Index> fold(parts);
  const Index first = fold.least(find<T>(a), kNowhere);
  if (thread_index() == 0) a.partials[block_index()] = first;
}

/// One block.
OCTET_DEVICE void finish_search(const FinishSearch& a) {
  OCTET_SHARED Index parts[BlockFold<Index>::kParts];
  BlockFold<Index> fold(parts);
  Index first = kNowhere;
  for (int i = thread_index(); i < a.count; i += thread_count()) {
    first = a.partials[i] < first ? a.partials[i] : first;
  }
  first = fold.least(first, kNowhere);
  if (thread_index() == 0) a.first[0] = first == kNowhere ? -1 : first;
}

}  // namespace
}  // namespace octet::kernels

// Eight blocks of a sum on a multiprocessor, as its launch counts on: with registers for fewer, a quarter of the blocks
// waits until others end, and they are then too few for the memory.
OCTET_DENSE_SIMPLE_KERNEL(256, 8, sum_floats, SumPartials,
                          sum_partials<octet::kernels::FloatSum<octet::kernels::Itself>>)
OCTET_DENSE_SIMPLE_KERNEL(256, 8, sum_of_squares_f32, SumPartials,
                          sum_partials<octet::kernels::FloatSum<octet::kernels::Square>>)
OCTET_DENSE_SIMPLE_KERNEL(256, 8, sum_of_squares_bf16, SumPartials, sum_partials<octet::kernels::HalfSquares>)
OCTET_SIMPLE_KERNEL(256, difference_f32, DifferencePartials, difference<float>)
OCTET_SIMPLE_KERNEL(256, difference_bf16, DifferencePartials, difference<octet::bf16>)
OCTET_SIMPLE_KERNEL(256, finish_sum, FinishSum, finish_sum)
OCTET_SIMPLE_KERNEL(256, find_non_finite_f32, Search, find_non_finite<float>)
OCTET_SIMPLE_KERNEL(256, find_non_finite_bf16, Search, find_non_finite<octet::bf16>)
OCTET_SIMPLE_KERNEL(256, finish_search, FinishSearch, finish_search)
