// Which of cuBLASLt's proposals is the fastest, measured: the heuristic's first choice for bf16 is up to 15 % slow.
//
// Made by `octet bench step --tune` on one NVIDIA H200, random data, medians. A product that is not here
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
  char operands;  ///< 'b' bf16; FP8 with a scale a row 'r', one scale 't', 'R' and 'T' where sums are full
  char layout;    ///< which of A and B lie transposed: '0' none, 'a', 'b', '2' both
  char output;    ///< 'b' bf16, 'f' f32, '+' f32 that is added to
  int choice;
};

// Llama 3 8B, 8192 tokens. Choice 0 was measured as well: no other proposal gains 2 % twice.
inline constexpr std::array<CublasLtChoice, 19> kCublasLtChoices{{
    {130100, 6144, 4096, 8192, 'b', '2', 'f', 7},   // 592 us, first 613
    {130100, 8192, 4096, 4096, 'b', '0', 'b', 5},   // 398 us, first 410
    {130100, 8192, 4096, 4096, 'b', 'b', 'b', 5},   // 362 us, first 406
    {130100, 8192, 6144, 4096, 'b', '0', 'b', 3},   // 577 us, first 614
    {130100, 8192, 14336, 4096, 'b', 'b', 'b', 7},  // 1386 us, first 1414
    {130100, 8192, 28672, 4096, 'b', '0', 'b', 2},  // 2793 us, first 2892
    {130100, 28672, 4096, 8192, 'b', '2', 'f', 5},  // 2819 us, first 3109
    {130100, 128256, 4096, 4096, 'b', '2', 'f', 5}, {130100, 128256, 4096, 4096, 'b', '2', '+', 5},
    {130100, 4096, 4096, 8192, 'b', '2', 'b', 0},   {130100, 4096, 14336, 8192, 'b', '2', 'b', 0},
    {130100, 6144, 4096, 8192, 'b', '2', 'b', 0},   {130100, 8192, 4096, 6144, 'b', 'b', 'b', 0},
    {130100, 8192, 4096, 14336, 'b', '0', 'b', 0},  {130100, 8192, 4096, 28672, 'b', 'b', 'b', 0},
    {130100, 8192, 4096, 128256, 'b', 'b', 'b', 0}, {130100, 8192, 128256, 4096, 'b', '0', 'b', 0},
    {130100, 28672, 4096, 8192, 'b', '2', 'b', 0},  {130100, 128256, 4096, 8192, 'b', '2', 'b', 0},
}};

}  // namespace octet::gpu
