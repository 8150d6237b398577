// Half precision (IEEE 754's binary16) decoded and encoded by steps without branches, so that loops over lanes
// vectorise.
#pragma once

#include <bit>
#include <cstdint>

namespace octet::sim {

/// Exact; a NaN keeps its sign and payload and becomes quiet.
[[nodiscard]] constexpr float decode_half(std::uint32_t bits) {
  constexpr std::uint32_t kRebias = (127U - 15U) << 23;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  const std::uint32_t normal = (magnitude << 13) + kRebias;
  const std::uint32_t special = (normal + kRebias) | (magnitude > 0x7C00U ? 0x0040'0000U : 0U);
  const auto denormal =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
  const std::uint32_t finite = magnitude < 0x0400U ? denormal : normal;
  return std::bit_cast<float>((magnitude >= 0x7C00U ? special : finite) | (bits & 0x8000U) << 16);
}

/// To nearest even, infinity where it overflows; a NaN becomes quiet under its sign.
[[nodiscard]] constexpr std::uint32_t encode_half(float value) {
  constexpr std::uint32_t kRebias = (127U - 15U) << 23;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  const std::uint32_t normal = (magnitude - kRebias + 0x0FFFU + (magnitude >> 13 & 1U)) >> 13;
  // The last place of 0.5 is that of a denormal half: the sum is rounded there.
  const auto denormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F00'0000U;
  const std::uint32_t finite = magnitude < 0x3880'0000U ? denormal : normal;
  const std::uint32_t special = magnitude > 0x7F80'0000U ? 0x7E00U | (magnitude >> 13 & 0x03FFU) : 0x7C00U;
  return (magnitude >= 0x4780'0000U ? special : finite) | (bits >> 16 & 0x8000U);
}

/// The same from double precision, rounded once.
[[nodiscard]] constexpr std::uint32_t encode_half(double value) {
  constexpr std::uint64_t kRebias = std::uint64_t{1023 - 15} << 52;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = bits & 0x7FFF'FFFF'FFFF'FFFFU;
  const std::uint64_t normal = (magnitude - kRebias + 0x01FF'FFFF'FFFFU + (magnitude >> 42 & 1U)) >> 42;
  const auto denormal =
      std::bit_cast<std::uint64_t>(std::bit_cast<double>(magnitude) + 0x1p28) - 0x41B0'0000'0000'0000U;
  const std::uint64_t finite = magnitude < 0x3F10'0000'0000'0000U ? denormal : normal;
  const std::uint64_t special =
      magnitude > 0x7FF0'0000'0000'0000U ? 0x7E00U | (magnitude >> 42 & 0x03FFU) : std::uint64_t{0x7C00U};
  const std::uint64_t rounded = magnitude >= 0x40F0'0000'0000'0000U ? special : finite;
  return static_cast<std::uint32_t>(rounded | (bits >> 48 & 0x8000U));
}

/// Toward zero: the largest half where it overflows.
[[nodiscard]] constexpr std::uint32_t truncate_to_half(float value) {
  constexpr std::uint32_t kRebias = (127U - 15U) << 23;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  if (magnitude > 0x7F80'0000U) return sign | 0x7E00U | (magnitude >> 13 & 0x03FFU);
  if (magnitude == 0x7F80'0000U) return sign | 0x7C00U;
  if (magnitude >= 0x4780'0000U) return sign | 0x7BFFU;
  if (magnitude >= 0x3880'0000U) return sign | (magnitude - kRebias) >> 13;
  return sign | static_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p24F);
}

}  // namespace octet::sim
