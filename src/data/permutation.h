// A shuffle without an array: a pseudo-random bijection of [0, size), computed at any place in constant memory.
#pragma once

#include <array>
#include <cstdint>

namespace octet {

class Permutation {
 public:
  /// Every (size, seed, epoch) names one permutation, the same on every machine and in every version: resumed runs
  /// rely on it. `size` is in [1, 2^62].
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch);

  /// The element at `place`; both lie in [0, size).
  [[nodiscard]] std::uint64_t operator()(std::uint64_t place) const;

 private:
  [[nodiscard]] std::uint64_t encrypt(std::uint64_t value) const;

  static constexpr int kRounds = 6;
  std::uint64_t size_;
  int half_bits_;
  std::array<std::uint64_t, kRounds> keys_;
};

}  // namespace octet
