// What a cast did to its input, counted on the bits of bf16 magnitudes, which as integers are in order: a value is
// larger than an fp32 number if its bits are larger than the upper half of that number's.
#include "ops/cpu/isa/cast.h"
#include "ops/cpu/isa/kernels.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

constexpr std::int16_t kInfiniteBf16 = 0x7F80;

/// Largest magnitudes of a row.
struct CastLimits {
  std::int16_t kept;           // that a saturating cast does not clip
  std::int16_t representable;  // that a plain cast does not lose
  std::int16_t to_zero;        // whose code is zero
};

/// `scale_inverse` is not NaN. Where it is infinite, as for a row that holds an infinity, finite values become zero.
[[gnu::always_inline]] inline CastLimits limits_of(fp8::Format format, float scale_inverse) {
  const auto magnitude_of = [&](float scaled) {
    return static_cast<std::int16_t>(__builtin_bit_cast(std::uint32_t, scaled * scale_inverse) >> 16);
  };
  const auto finite = [](std::int16_t magnitude) {
    return magnitude < kInfiniteBf16 ? magnitude : static_cast<std::int16_t>(kInfiniteBf16 - 1);
  };
  CastLimits limits{};
  with_format(format, [&](auto tag) {
    using Of = fp8::Limits<tag.format>;
    constexpr float kRepresentable = fp8::largest_not_overflowing<tag.format>();
    constexpr float kTie = Of::min_subnormal / 2;  // it goes to zero
    limits = {magnitude_of(Of::max), finite(magnitude_of(kRepresentable)), finite(magnitude_of(kTie))};
  });
  return limits;
}

/// Counts in lanes of two bytes, added to a tally before they can overflow.
class LaneCounts {
 public:
  /// x [32].
  [[gnu::always_inline]] void add(const bf16* x, const CastLimits& limits) {
    const I16 magnitudes = load_64_bytes<I16>(x) & splat<std::int16_t>(0x7FFF);
    count_above(above_kept_, magnitudes, limits.kept);
    count_above(above_representable_, magnitudes, limits.representable);
    count_above(above_zero_, magnitudes, 0);
    count_above(above_to_zero_, magnitudes, limits.to_zero);
    count_above(nan_, magnitudes, kInfiniteBf16);
    ++added_;
  }
  [[gnu::always_inline]] bool full() const { return added_ == kMostAdded; }

  [[gnu::always_inline]] void flush(RowKernels::CastTally& tally) {
    tally.saturated += total(above_kept_) - total(nan_);
    tally.overflowed += total(above_representable_);
    tally.underflowed += total(above_zero_) - total(above_to_zero_);
    *this = {};
  }

 private:
  static constexpr int kMostAdded = 0x7FFF;

  [[gnu::always_inline]] static void count_above(I16& counts, I16 magnitudes, std::int16_t limit) {
    const I16 limits = splat(limit);
    for (int i = 0; i < I16::registers; ++i) {
      counts.part[i] -= magnitudes.part[i] > limits.part[i];  // a set lane is -1
    }
  }

  [[gnu::always_inline]] static std::uint64_t total(I16 counts) {
    std::int16_t lane[2 * kLanes];
    store_64_bytes(lane, counts);
    std::uint64_t sum = 0;
    for (const std::int16_t count : lane) sum += static_cast<std::uint64_t>(count);
    return sum;
  }

  I16 above_kept_{}, above_representable_{}, above_zero_{}, above_to_zero_{}, nan_{};
  int added_ = 0;
};

}  // namespace

void cast_statistics(const CastStatistics& op, Index begin, Index end, RowKernels::CastTally& tally) {
  LaneCounts counts;
  const auto add = [&](const bf16* x, const CastLimits& limits) {
    counts.add(x, limits);
    if (counts.full()) [[unlikely]]
      counts.flush(tally);
  };
  for (Index row = begin; row < end; ++row) {
    const float scale_inverse = op.scale_inverse[op.one_scale ? 0 : row];
    if (scale_inverse != scale_inverse) {  // each product is NaN
      tally.overflowed += static_cast<std::uint64_t>(op.cols);
      continue;
    }
    const CastLimits limits = limits_of(op.format, scale_inverse);
    const bf16* x = op.x + row * op.cols;
    Index i = 0;
    for (; i + 2 * kLanes <= op.cols; i += 2 * kLanes) add(x + i, limits);
    if (i == op.cols) continue;
    bf16 padded[2 * kLanes]{};
    __builtin_memcpy(padded, x + i, static_cast<std::size_t>(op.cols - i) * sizeof(bf16));
    add(padded, limits);
  }
  counts.flush(tally);
}

}  // namespace octet::ops::cpu::OCTET_ISA
