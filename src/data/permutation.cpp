// A balanced Feistel network over the smallest even number of bits that holds the size, with cycle walking.
#include "data/permutation.h"

#include <algorithm>
#include <bit>

#include "core/error.h"

namespace octet {
namespace {

/// The finalizer of SplitMix64: each input bit changes each output bit about half of the time.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch)
    : size_(size), half_bits_(std::max(1, (static_cast<int>(std::bit_width(size - 1)) + 1) / 2)), keys_{} {
  check(size >= 1 && size <= std::uint64_t{1} << 62U, "a permutation has 1 to 2^62 elements");
  // Hashing in turn keeps (seed, epoch) apart from (epoch, seed) and from (seed + 1, epoch - 1).
  std::uint64_t key = mix(mix(seed + kGolden) ^ epoch);
  for (std::uint64_t& round_key : keys_) round_key = mix(key += kGolden);
}

std::uint64_t Permutation::operator()(std::uint64_t place) const {
  check(place < size_, "a place lies inside its permutation");
  // The network permutes up to four times as many values as there are elements. Walking its cycle until it is back
  // among the elements is a permutation of these, after fewer than four steps on average.
  std::uint64_t value = encrypt(place);
  while (value >= size_) value = encrypt(value);
  return value;
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << static_cast<unsigned>(half_bits_)) - 1;
  std::uint64_t left = value >> static_cast<unsigned>(half_bits_);
  std::uint64_t right = value & mask;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t mixed = left ^ (mix(right ^ key) & mask);
    left = right;
    right = mixed;
  }
  return (left << static_cast<unsigned>(half_bits_)) | right;
}

}  // namespace octet
