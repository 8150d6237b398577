// Cases of rotary positions and of attention.
#pragma once

#include "ops/selftest/op_check.h"
#include "ops/selftest/packing.h"

namespace octet::ops::selftest {

struct RopeCase {
  Index rows, heads, kept_heads, head_dim, seq_len, offset;  ///< kept_heads: behind those that are rotated
  bool inverse = false;
  bool non_finite = false;
  WantedCodes codes = {};
  Measured measured = {};

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} rows of {} + {} heads of {}, sequences of {} from {}{}, {}{}{}", rows, heads, kept_heads,
                       head_dim, seq_len, offset, inverse ? ", inverse" : "", selftest::describe(codes),
                       selftest::describe(measured), non_finite ? ", NaN and infinity" : "");
  }
};

/// Heads whose halves are vectors of eight, a power of two of them or not, and heads that are longer than a warp; rows
/// of few and of many vectors; more rows than a device's blocks take at once.
inline constexpr auto kCastRopeCases = measured(std::to_array<RopeCase>({
    {0, 2, 1, 16, 5, 0, true, false, kE4m3fn},
    {1, 1, 0, 2, 1, 0, true, false, kE4m3fn},
    {3, 0, 2, 16, 3, 0, true, false, kE5m2},
    {7, 3, 1, 6, 7, 0, true, false, kE4m3fnuz},
    {22, 5, 2, 10, 11, 0, true, true, kE5m2},
    {13, 3, 1, 48, 5, 2, true, false, kE4m3fnAnyScale},
    {22, 5, 2, 16, 11, 0, true, true, kE4m3fn},
    {67, 6, 2, 64, 67, 0, false, false, kE4m3fnuzAnyScale},
    {11, 10, 2, 128, 11, 0, true, false, kE4m3fn},
    {5, 50, 2, 128, 4, 40, true, true, kE5m2},
    {3, 2, 1, 256, 3, 0, true, false, std::nullopt},
    {3, 2, 1, 512, 3, 0, true, false, kE4m3fn},
    {4801, 1, 1, 16, 100, 3, true, false, kE4m3fn},
}));

template <>
struct OpCheck<Rope> {
  static constexpr auto kCases = join(kCastRopeCases, std::to_array<RopeCase>({
                                                          {0, 2, 1, 16, 5, 0},
                                                          {1, 1, 0, 2, 1, 0},
                                                          {7, 3, 1, 6, 7, 0, true},
                                                          {22, 5, 2, 10, 11, 0},
                                                          {134, 6, 2, 64, 67, 0},
                                                          {134, 6, 2, 64, 67, 0, true},
                                                          {3, 6, 2, 128, 1, 40},
                                                          {22, 5, 2, 10, 11, 0, false, true},
                                                          {4, 45, 1, 128, 3, 0},
                                                      }));
  static constexpr auto kThoroughCases = measured(std::to_array<RopeCase>({
      {2050, 10, 2, 128, 1025, 0, true, false, kE4m3fn},
      {1031, 52, 3, 128, 515, 0, true, true, kE5m2},
  }));
  static void run(Trial& trial, const RopeCase& c);
};

struct AttentionCase {
  AttentionShape shape;
  double spread = 1;  ///< standard deviation of qkv: scores grow with its square
  bool non_finite = false;
  std::optional<Packing> packing = {};

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} x {} tokens, {} heads on {} of {} and {}, values of {}{}{}", shape.batch, shape.seq_len,
                       shape.heads, shape.kv_heads, shape.head_dim, shape.value_dim, spread, non_finite ? ", NaN" : "",
                       selftest::describe(packing));
  }
};

/// Values as long as queries and keys, shorter, and longer; lengths that are no multiple of eight.
inline constexpr auto kWholeAttentionCases = std::to_array<AttentionCase>({
    {{0, 5, 2, 1, 16}},
    {{1, 1, 1, 1, 2}},
    {{2, 2, 3, 3, 8}},
    {{1, 31, 4, 2, 20}},
    {{3, 17, 6, 2, 32}},
    {{1, 129, 4, 1, 64}},
    {{2, 130, 2, 2, 128}},
    {{1, 67, 4, 2, 16}, 4},
    {{1, 257, 2, 1, 32}},
    {{2, 33, 4, 2, 16}, 1, true},
    {{1, 3, 2, 1, 1, 3}},
    {{2, 19, 4, 2, 13, 7}},
    {{1, 70, 4, 2, 24, 40}},
    {{2, 81, 2, 2, 192, 128}},
    {{1, 70, 2, 1, 224, 256}},
    {{1, 33, 4, 1, 192, 128}, 1, true},
});

/// Documents of one token, and of a few; that begin beside the edges of tiles of 16 to 128 rows, or with a sequence's
/// last token; that are longer than a tile, so that others lie wholly outside of them; each instance of the GPUs'
/// kernels, and heads that these take in plain fp32.
inline constexpr auto kPackedAttentionCases = std::to_array<AttentionCase>({
    {{3, 5, 2, 1, 8}, 1, false, Packing{2}},
    {{2, 66, 2, 1, 16}, 1, false, Packing{1}},
    {{2, 90, 6, 2, 20}, 1, false, Packing{7}},
    {{1, 300, 2, 1, 32}, 1, false, Packing{0, {100, 257}}},
    {{1, 130, 4, 2, 64}, 1, false, Packing{0, {1, 63, 64, 65, 127, 129}}},
    {{2, 131, 2, 1, 128}, 1, false, Packing{0, {15, 17, 31, 33, 128, 130}}},
    {{1, 70, 2, 2, 192, 128}, 1, false, Packing{0, {16, 32, 48, 64, 69}}},
    {{1, 70, 2, 1, 256}, 1, false, Packing{0, {33, 63}}},
    {{2, 150, 4, 2, 32}, 1, false, kWholeSequences},
    {{2, 33, 4, 2, 16}, 1, true, Packing{10}},
});

template <>
struct OpCheck<AttentionForward> {
  static constexpr auto kCases = join(kWholeAttentionCases, kPackedAttentionCases);
  static constexpr auto kThoroughCases = std::to_array<AttentionCase>({
      {{1, 515, 8, 2, 64}},
      {{2, 384, 4, 4, 128}},
      {{1, 403, 4, 4, 192, 128}},
      {{2, 515, 8, 2, 128}, 1, false, Packing{37, {255, 257, 511}}},
      {{1, 403, 4, 4, 192, 128}, 1, false, Packing{65}},
  });
  static void run(Trial& trial, const AttentionCase& c);
};

template <>
struct OpCheck<AttentionBackward> {
  static constexpr auto kCases = OpCheck<AttentionForward>::kCases;
  static constexpr auto kThoroughCases = OpCheck<AttentionForward>::kThoroughCases;
  static void run(Trial& trial, const AttentionCase& c);
};

struct AppendCase {
  Index batch, position, capacity, heads, kv_heads, head_dim;
  Index value_dim = head_dim;
  Index seq_len = 1;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} sequences, {} rows from position {} of {}, {} heads on {} of {}, values of {}", batch,
                       seq_len, position, capacity, heads, kv_heads, head_dim, value_dim);
  }
};

template <>
struct OpCheck<AppendToCache> {
  static constexpr std::array<AppendCase, 6> kCases{{{0, 0, 4, 2, 1, 16},
                                                     {1, 0, 1, 1, 1, 2},
                                                     {3, 6, 7, 4, 2, 20},
                                                     {2, 4, 9, 8, 8, 64},
                                                     {2, 1, 9, 4, 2, 20, 12, 5},
                                                     {1, 0, 33, 3, 3, 16, 24, 33}}};
  static constexpr std::array<AppendCase, 1> kThoroughCases{{{7, 1000, 1031, 8, 2, 128}}};
  static void run(Trial& trial, const AppendCase& c);
};

struct DecodeCase {
  Index batch, length, capacity, heads, kv_heads, head_dim;
  bool non_finite = false;
  Index value_dim = head_dim;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} sequences, {} of {} positions, {} heads on {} of {}, values of {}{}", batch, length,
                       capacity, heads, kv_heads, head_dim, value_dim, non_finite ? ", NaN" : "");
  }
};

template <>
struct OpCheck<AttentionDecode> {
  static constexpr std::array<DecodeCase, 8> kCases{{
      {0, 3, 4, 2, 1, 16},
      {1, 1, 1, 1, 1, 2},
      {2, 7, 16, 4, 2, 20},
      {3, 130, 131, 6, 2, 64},
      {1, 257, 300, 8, 8, 32},
      {2, 7, 16, 4, 2, 20, true},
      {2, 19, 24, 4, 2, 48, false, 20},
      {1, 40, 41, 3, 3, 24, false, 70},
  }};
  static constexpr std::array<DecodeCase, 1> kThoroughCases{{{4, 2049, 4096, 8, 2, 128}}};
  static void run(Trial& trial, const DecodeCase& c);
};

}  // namespace octet::ops::selftest
