// The three instructions with which clang divides floats exactly: scale, fused multiply-add with unscaling, fix-up.
// AMD CDNA4 ISA, 12.11 VOP3: V_DIV_SCALE_F32, V_DIV_FMAS_F32, V_DIV_FIXUP_F32, and those of F64 and F16. Where the
// document's formulas cannot be meant as printed, the comments say what stands here instead.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/half_lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// What differs between the formats; exponents are biased.
template <typename T>
struct Division;
template <>
struct Division<float> {
  static constexpr int kScale = 64;                ///< power of two by which operands are scaled
  static constexpr int kLargeQuotient = 96;        ///< difference of exponents from which a quotient may overflow
  static constexpr int kTinyNumerator = 23;        ///< exponent up to which remainders lose bits
  static constexpr int kVanishingQuotient = -150;  ///< difference of exponents below which a quotient is zero
  static constexpr int kBias = 127;
};
template <>
struct Division<double> {
  static constexpr int kScale = 128;
  static constexpr int kLargeQuotient = 768;
  static constexpr int kTinyNumerator = 53;
  static constexpr int kVanishingQuotient = -1075;
  static constexpr int kBias = 1023;
};

template <typename T>
int exponent(T a) {
  using Format = FloatBits<BitsOf<T>>;
  return static_cast<int>(Format::magnitude(as_bits(a)) >> Format::kMantissaBits);
}

template <typename T>
struct Scaled {
  T value;
  bool unscales;  ///< v_div_fmas has to undo the scaling
};

/// Whether a / b is below the least normal number; one that is rounded up to it counts as normal.
template <typename T>
bool is_quotient_denormal(T a, T b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  return std::fabs(double{a} / double{b}) < double{std::numeric_limits<T>::min()};
}

/// Prepares `source`, which is the numerator or the denominator, so that the steps of a division neither overflow nor
/// lose bits. Of a float the document asks whether the reciprocal is denormal "in 64 bits", which it never is; what can
/// be meant is single precision, where v_rcp_f32 would make it 0. And where the quotient is denormal as well it prints
/// 2^64 for the denominator, and 2^128 of doubles, which would overflow: 2^-64 and 2^-128 are what makes the quotient
/// right.
template <typename T>
Scaled<T> scale(T source, T denominator, T numerator) {
  using Limits = Division<T>;
  const bool is_denominator = as_bits(source) == as_bits(denominator);
  const bool is_numerator = as_bits(source) == as_bits(numerator);
  const T up = std::ldexp(source, Limits::kScale);
  const T down = std::ldexp(source, -Limits::kScale);
  if (numerator == 0 || denominator == 0) return {std::numeric_limits<T>::quiet_NaN(), false};
  if (exponent(numerator) - exponent(denominator) >= Limits::kLargeQuotient) {
    return {is_denominator ? up : source, true};
  }
  if (exponent(denominator) == 0) return {up, false};
  const bool tiny_quotient = is_quotient_denormal(numerator, denominator);
  const bool tiny_reciprocal = is_quotient_denormal(T{1}, denominator);
  if (tiny_reciprocal && tiny_quotient) return {is_denominator ? down : source, true};
  if (tiny_reciprocal) return {down, false};
  if (tiny_quotient) return {is_numerator ? up : source, true};
  if (exponent(numerator) <= Limits::kTinyNumerator) return {up, false};
  return {source, false};
}

/// Operands: D, VCC, source, denominator, numerator.
template <typename T>
void divide_scale(Wave& wave, const Instruction& instruction) {
  using Row = RowOf<T>;
  std::array<Row, 3> buffers;
  const Row& source = read_floats(wave, instruction.operands[2], buffers[0]);
  const Row& denominator = read_floats(wave, instruction.operands[3], buffers[1]);
  const Row& numerator = read_floats(wave, instruction.operands[4], buffers[2]);
  Row result;
  u64 unscales = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const Scaled<T> scaled = scale(as_float(source[lane]), as_float(denominator[lane]), as_float(numerator[lane]));
    result[lane] = as_bits(scaled.value);
    unscales |= u64{scaled.unscales} << lane;
  }
  settle_nans(result, std::array<const Row*, 1>{&source});
  write_floats(wave, instruction.operands[0], result);
  write_scalar(wave, instruction.operands[1], unscales & wave.exec());
}

/// The error a * b + c - sum of a fused sum, or a number of its sign. Boldo and Muller, "Exact and Approximated Error
/// of the FMA" (2011): exact sums of two and an exact product.
template <typename T>
T error_of_fused(T a, T b, T c, T sum) {
  struct Pair {
    T sum, error;
  };
  const auto two_sum = [](T x, T y) {
    const T total = x + y;
    const T of_y = total - x;
    return Pair{total, (x - (total - of_y)) + (y - of_y)};
  };
  const T product = a * b;
  const T product_error = std::fma(a, b, -product);
  const Pair low = two_sum(c, product_error);
  const Pair high = two_sum(product, low.sum);
  return ((high.sum - sum) + high.error) + low.error;
}

/// a * b + c times a power of two, rounded once. Rounding the rounded sum again, where that is denormal, differs only
/// if it lies in the middle of two of these and the exact sum does not.
template <typename T>
T fused_and_scaled(T a, T b, T c, int power) {
  const T sum = std::fma(a, b, c);
  if (power == 0 || !std::isfinite(sum) || sum == 0) return std::ldexp(sum, power);
  const T scaled = std::ldexp(sum, power);
  const T least = std::ldexp(std::numeric_limits<T>::denorm_min(), -power);  // in units of the sum
  const T from_middle = std::ldexp(scaled, -power) - sum;
  const T error = error_of_fused(a, b, c, sum);
  if (std::fabs(from_middle) != least / 2 || error == 0) return scaled;
  return std::ldexp(sum + (error > 0 ? least / 2 : -least / 2), power);
}

/// D = a * b + c, times 2^scale or 2^-scale where VCC says that the operands were scaled: the larger quotient was
/// scaled down. The document prints 2^32 for both, 2^64 of doubles; v_div_scale scales by the squares of these. Rounded
/// once: inferred, as only then are quotients right that are denormal.
template <typename T>
void divide_fused(Wave& wave, const Instruction& instruction) {
  using Row = RowOf<T>;
  std::array<Row, 3> buffers;
  const std::array<const Row*, 3> sources{&read_floats(wave, instruction.operands[1], buffers[0]),
                                          &read_floats(wave, instruction.operands[2], buffers[1]),
                                          &read_floats(wave, instruction.operands[3], buffers[2])};
  Row result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const T c = as_float((*sources[2])[lane]);
    const bool unscales = (wave.vcc() >> lane & 1U) != 0;
    const int power = exponent(c) > Division<T>::kBias ? Division<T>::kScale : -Division<T>::kScale;
    result[lane] = as_bits(
        fused_and_scaled(as_float((*sources[0])[lane]), as_float((*sources[1])[lane]), c, unscales ? power : 0));
  }
  settle_nans(result, sources);
  modify_output(instruction, result);
  write_floats(wave, instruction.operands[0], result);
}

/// The quotient, in its bits, where it is an ordinary number; what IEEE 754 wants where operands are special.
template <typename Bits>
Bits fix_up(Bits quotient, Bits denominator, Bits numerator) {
  using Format = FloatBits<Bits>;
  const auto sign = static_cast<Bits>((denominator ^ numerator) & Format::kSign);
  const Bits below = Format::magnitude(denominator);
  const Bits above = Format::magnitude(numerator);
  if (Format::is_nan(numerator)) return Format::quieted(numerator);
  if (Format::is_nan(denominator)) return Format::quieted(denominator);
  if (above == below && (above == 0 || above == Format::kInfinity)) return Format::kDefaultNan;
  if (below == 0 || above == Format::kInfinity) return static_cast<Bits>(sign | Format::kInfinity);
  if (below == Format::kInfinity || above == 0) return sign;
  if constexpr (sizeof(Bits) >= sizeof(float)) {
    using T = decltype(as_float(quotient));
    if (exponent(as_float(numerator)) - exponent(as_float(denominator)) < Division<T>::kVanishingQuotient) return sign;
    // The steps before overflowed; not in the document.
    if (Format::is_nan(quotient)) return static_cast<Bits>(sign | Format::kInfinity);
  }
  return static_cast<Bits>(sign | Format::magnitude(quotient));
}

constexpr u32 kAccepts = modifier::kSign | modifier::kOutput;
constexpr std::array kRows = std::to_array<Row>({
    {"v_div_scale_f32", divide_scale<float>, modifier::kSign},
    {"v_div_scale_f64", divide_scale<double>, modifier::kSign},
    {"v_div_fmas_f32", divide_fused<float>, kAccepts},
    {"v_div_fmas_f64", divide_fused<double>, kAccepts},
    {"v_div_fixup_f32", float_bits3<float, fix_up<u32>>, kAccepts},
    {"v_div_fixup_f64", float_bits3<double, fix_up<u64>>, kAccepts},
    {"v_div_fixup_f16", half_bits3<fix_up<u16>>, kAccepts | modifier::kHalves},
    {"v_div_fixup_legacy_f16", half_bits3<fix_up<u16>, OtherHalf::zero>, kAccepts},
});

}  // namespace

Table vector_division_table() {
  return kRows;
}

}  // namespace octet::sim
