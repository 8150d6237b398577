// Random inputs from counters, so that every machine tests the same numbers.
#include "ops/selftest/inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/random.h"

namespace octet::ops::selftest {
namespace {

constexpr std::uint64_t kSeed = 0x0C7E7;

template <typename T, typename Make>
std::vector<T> generate(Index count, Make make) {
  std::vector<T> values(count);
  for (Index i = 0; i < count; ++i) values[i] = make(i);
  return values;
}

std::array<std::uint32_t, 4> random_words(std::uint64_t stream, Index i) {
  return philox(kSeed, i, stream);
}

/// A sum of four uniform numbers, shifted and scaled to mean 0 and variance 1: close to normal, within +-3.5, and the
/// same number whatever the machine's logarithm.
double random_normal(std::uint64_t stream, Index i) {
  double sum = 0;
  for (const std::uint32_t word : random_words(stream, i)) sum += uniform(word);
  return (sum - 2) * std::numbers::sqrt3;
}

/// Positions in `values` for the NaN, the infinity and its negative.
template <typename T, typename Convert>
void put_non_finite(std::vector<T>& values, Convert convert) {
  if (values.empty()) return;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::size_t last = values.size() - 1;
  values[last / 3] = convert(std::numeric_limits<float>::quiet_NaN());
  values[last / 2] = convert(kInfinity);
  values[last] = convert(-kInfinity);
}

}  // namespace

std::vector<bf16> random_bf16(std::string_view name, Index count, double scale) {
  const std::uint64_t stream = stream_of(name);
  return generate<bf16>(count, [&](Index i) { return round_to_bf16(scale * random_normal(stream, i)); });
}

std::vector<float> random_f32(std::string_view name, Index count, double scale) {
  const std::uint64_t stream = stream_of(name);
  return generate<float>(count, [&](Index i) { return static_cast<float>(scale * random_normal(stream, i)); });
}

std::vector<std::int32_t> random_tokens(std::string_view name, Index count, Index limit) {
  const std::uint64_t stream = stream_of(name);
  return generate<std::int32_t>(count,
                                [&](Index i) { return static_cast<std::int32_t>(random_words(stream, i)[0] % limit); });
}

void add_non_finite(std::vector<bf16>& values) {
  put_non_finite(values, to_bf16);
}
void add_non_finite(std::vector<float>& values) {
  put_non_finite(values, [](float x) { return x; });
}

// Through float: the second rounding can move a result by one ulp, which every rule for bf16 allows.
bf16 round_to_bf16(double x) {
  return to_bf16(static_cast<float>(x));
}

std::vector<bf16> round_to_bf16(View x) {
  return generate<bf16>(std::ssize(x), [&](Index i) { return round_to_bf16(x[i]); });
}

std::vector<float> round_to_f32(View x) {
  return {x.begin(), x.end()};
}

Vector magnitudes(View x) {
  return generate<double>(std::ssize(x), [&](Index i) { return std::abs(x[i]); });
}

double largest_magnitude(View x) {
  double largest = 0;
  for (const double value : x) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

std::string_view name(Content content) {
  switch (content) {
    case Content::ordinary:
      return "ordinary";
    case Content::wide:
      return "wide";
    case Content::zeros:
      return "zeros";
    case Content::tiny:
      return "tiny";
    case Content::ties:
      return "ties";
    case Content::with_nan:
      return "with NaN";
    case Content::with_infinity:
      return "with infinity";
  }
  return "unknown";
}

std::vector<bf16> make_content(Content content, Index count) {
  constexpr std::uint32_t kRare = 97;  // one of so many elements is the special one
  std::vector<bf16> values = random_bf16(name(content), count);
  for (Index i = 0; i < count; ++i) {
    const std::uint32_t word = random_words(kSeed, i)[0];
    bf16& value = values[i];
    switch (content) {
      case Content::ordinary:
        break;
      case Content::wide:  // any bits but those of NaN and infinity
        value.bits = static_cast<std::uint16_t>(word % 0x7F80U | (word >> 31) << 15);
        break;
      case Content::zeros:
        value.bits = static_cast<std::uint16_t>(word & 0x8000U);
        break;
      case Content::tiny:
        value = round_to_bf16(1e-13 * static_cast<double>(to_float(value)));
        break;
      case Content::ties:  // eight mantissa bits over a few binades, under a scale that is a power of two
        value = to_bf16(std::ldexp(static_cast<float>(word % 512) - 256.0F, static_cast<int>(word >> 16 & 15U) - 15));
        break;
      case Content::with_nan:
        if (word % kRare == 0) value.bits = 0xFFC1;  // negative, with a payload
        break;
      case Content::with_infinity:
        if (word % kRare == 0) value.bits = word >> 31 == 0 ? 0x7F80 : 0xFF80;
        break;
    }
  }
  return values;
}

}  // namespace octet::ops::selftest
