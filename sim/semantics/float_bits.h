// What is the same for floats of 16, 32 and 64 bits, on their bits: NaNs, classes, order, minimum and maximum.
// AMD CDNA4 ISA, 12.7 VOP2 (V_MIN_F32, V_MAX_F32), 12.9 VOPC (V_CMP_CLASS_F32), 12.11 VOP3 (V_MED3_F32) and their like;
// 3.5 "Mode register": IEEE mode.
#pragma once

#include <cstdint>
#include <type_traits>

namespace octet::sim {

/// The format of IEEE 754 whose numbers `Bits` holds.
template <typename Bits>
struct FloatBits {
  static_assert(std::is_unsigned_v<Bits> && sizeof(Bits) >= 2);
  static constexpr int kMantissaBits = sizeof(Bits) == 2 ? 10 : sizeof(Bits) == 4 ? 23 : 52;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  static constexpr Bits kLeastNormal = static_cast<Bits>(Bits{1} << kMantissaBits);
  static constexpr Bits kInfinity = static_cast<Bits>(kSign - kLeastNormal);
  static constexpr Bits kQuietBit = static_cast<Bits>(kLeastNormal >> 1);
  /// Of operations that have no result. The ISA shows this one, sign and all, for roots, logarithms, sine, cosine and
  /// 0 / 0 (12.8, 12.11); what sums and products give is taken to be the same.
  static constexpr Bits kDefaultNan = static_cast<Bits>(kSign | kInfinity | kQuietBit);

  [[nodiscard]] static constexpr Bits magnitude(Bits bits) { return static_cast<Bits>(bits & ~kSign); }
  [[nodiscard]] static constexpr bool is_nan(Bits bits) { return magnitude(bits) > kInfinity; }
  [[nodiscard]] static constexpr bool is_signalling(Bits bits) { return is_nan(bits) && (bits & kQuietBit) == 0; }
  [[nodiscard]] static constexpr Bits quieted(Bits bits) {
    return static_cast<Bits>(bits | (is_nan(bits) ? kQuietBit : Bits{0}));
  }

  /// Integers in this order are floats in theirs, -0 below +0.
  [[nodiscard]] static constexpr std::make_signed_t<Bits> ordered(Bits bits) {
    using Signed = std::make_signed_t<Bits>;
    const auto negative = static_cast<Bits>(static_cast<Signed>(bits) >> (8 * sizeof(Bits) - 1));
    return static_cast<Signed>(bits ^ (negative & static_cast<Bits>(~kSign)));
  }
};

/// In IEEE mode a signalling NaN wins, the first one, and becomes quiet; a quiet one gives way to whatever the other
/// is; else `number` is chosen.
template <typename Bits>
[[nodiscard]] constexpr Bits number_or(Bits number, Bits a, Bits b) {
  using Format = FloatBits<Bits>;
  const Bits other = Format::is_nan(a) ? b : a;
  const Bits chosen = Format::is_nan(a) || Format::is_nan(b) ? other : number;
  const Bits signalling = Format::is_signalling(a) ? a : b;
  return Format::quieted(Format::is_signalling(a) || Format::is_signalling(b) ? signalling : chosen);
}

template <typename Bits>
[[nodiscard]] constexpr Bits larger(Bits a, Bits b) {
  return number_or(FloatBits<Bits>::ordered(a) > FloatBits<Bits>::ordered(b) ? a : b, a, b);
}
template <typename Bits>
[[nodiscard]] constexpr Bits smaller(Bits a, Bits b) {
  return number_or(FloatBits<Bits>::ordered(a) < FloatBits<Bits>::ordered(b) ? a : b, a, b);
}
template <typename Bits>
[[nodiscard]] constexpr Bits largest(Bits a, Bits b, Bits c) {
  return larger(larger(a, b), c);
}
template <typename Bits>
[[nodiscard]] constexpr Bits smallest(Bits a, Bits b, Bits c) {
  return smaller(smaller(a, b), c);
}

/// With a NaN among them as the smallest.
template <typename Bits>
[[nodiscard]] constexpr Bits median_float(Bits a, Bits b, Bits c) {
  using Format = FloatBits<Bits>;
  if (Format::is_nan(a) || Format::is_nan(b) || Format::is_nan(c)) return smallest(a, b, c);
  return larger(smaller(a, b), smaller(larger(a, b), c));
}

/// IEEE 754-2019's maximum and minimum of three: a NaN makes the result one.
template <typename Bits>
[[nodiscard]] constexpr Bits maximum3(Bits a, Bits b, Bits c) {
  using Format = FloatBits<Bits>;
  for (const Bits bits : {a, b, c}) {
    if (Format::is_nan(bits)) return Format::quieted(bits);
  }
  return largest(a, b, c);
}
template <typename Bits>
[[nodiscard]] constexpr Bits minimum3(Bits a, Bits b, Bits c) {
  using Format = FloatBits<Bits>;
  for (const Bits bits : {a, b, c}) {
    if (Format::is_nan(bits)) return Format::quieted(bits);
  }
  return smallest(a, b, c);
}

/// Which of the ten classes of v_cmp_class_... a float is of, as a bit.
template <typename Bits>
[[nodiscard]] constexpr std::uint32_t class_of(Bits bits) {
  using Format = FloatBits<Bits>;
  const bool negative = (bits & Format::kSign) != 0;
  const Bits magnitude = Format::magnitude(bits);
  if (Format::is_nan(bits)) return Format::is_signalling(bits) ? 1U << 0 : 1U << 1;
  if (magnitude == Format::kInfinity) return negative ? 1U << 2 : 1U << 9;
  if (magnitude >= Format::kLeastNormal) return negative ? 1U << 3 : 1U << 8;
  if (magnitude != 0) return negative ? 1U << 4 : 1U << 7;
  return negative ? 1U << 5 : 1U << 6;
}

}  // namespace octet::sim
