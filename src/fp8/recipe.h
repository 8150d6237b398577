// The precision recipes as data: for each GEMM of a linear layer what its operands are, and which layers stay in bf16.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "fp8/formats.h"

namespace octet::fp8 {

/// Over what an operand shares a scale. row: over the contraction alone, one scale per index that is not contracted.
enum class ScaleAxis : std::uint8_t { none, tensor, row };

/// fast: the tensor core may keep partial sums in fewer bits. full: they are promoted to fp32 on the way.
enum class Accumulation : std::uint8_t { fast, full };

[[nodiscard]] constexpr std::string_view name(Accumulation accumulation) {
  return accumulation == Accumulation::fast ? "fast" : "full";
}

struct Operand {
  Precision precision;
  ScaleAxis scale_axis;
  friend constexpr bool operator==(const Operand&, const Operand&) = default;
};

struct Gemm {
  Operand left;
  Operand right;
  Accumulation accumulation;
  friend constexpr bool operator==(const Gemm&, const Gemm&) = default;
};

/// A layer with N <= n_at_most and K <= k_at_most is small: its casts cost more than its faster products save.
struct SmallShape {
  std::int64_t n_at_most;
  std::int64_t k_at_most;
  std::string_view reason;
};

/// A linear layer Y = X W^T with X [M, K], W [N, K] and dY [M, N].
struct Recipe {
  std::string_view name;
  Gemm forward;  ///< Y [M, N] = X W^T, over K
  Gemm dgrad;    ///< dX [M, K] = dY W, over N
  Gemm wgrad;    ///< dW [N, K] = dY^T X, over M
  bool power_of_two;
  std::span<const SmallShape> small_shapes;  ///< a layer that is any of them stays in bf16

  [[nodiscard]] constexpr bool uses_fp8() const { return forward.left.precision != Precision::bf16; }
};

namespace detail {

inline constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::max();

inline constexpr std::array<SmallShape, 1> kSmallForTensorwise{{
    {1024, 4096, "N <= 1024 and K <= 4096"},
}};

// Row scales cost a pass per row and direction: a layer must be larger to gain.
inline constexpr std::array<SmallShape, 3> kSmallForRowwise{{
    {2048, kAnySize, "N <= 2048"},
    {kAnySize, 1024, "K <= 1024"},
    {4096, 2048, "N <= 4096 and K <= 2048"},
}};

inline constexpr Operand kBf16{Precision::bf16, ScaleAxis::none};
inline constexpr Operand kTensorE4m3{Precision::e4m3, ScaleAxis::tensor};
inline constexpr Operand kTensorE5m2{Precision::e5m2, ScaleAxis::tensor};
inline constexpr Operand kRowE4m3{Precision::e4m3, ScaleAxis::row};

}  // namespace detail

// Fast accumulation in forward only: the sums of gradients are those that suffer from short accumulators.
inline constexpr std::array<Recipe, 4> kRecipes{{
    {.name = "bf16",
     .forward = {detail::kBf16, detail::kBf16, Accumulation::full},
     .dgrad = {detail::kBf16, detail::kBf16, Accumulation::full},
     .wgrad = {detail::kBf16, detail::kBf16, Accumulation::full},
     .power_of_two = false,
     .small_shapes = {}},
    {.name = "tensorwise",
     .forward = {detail::kTensorE4m3, detail::kTensorE4m3, Accumulation::fast},
     .dgrad = {detail::kTensorE5m2, detail::kTensorE4m3, Accumulation::full},
     .wgrad = {detail::kTensorE5m2, detail::kTensorE4m3, Accumulation::full},
     .power_of_two = false,
     .small_shapes = detail::kSmallForTensorwise},
    {.name = "rowwise",
     .forward = {detail::kRowE4m3, detail::kRowE4m3, Accumulation::fast},
     .dgrad = {detail::kRowE4m3, detail::kRowE4m3, Accumulation::full},
     .wgrad = {detail::kRowE4m3, detail::kRowE4m3, Accumulation::full},
     .power_of_two = true,
     .small_shapes = detail::kSmallForRowwise},
    // The weight gradient, which adds over all tokens, in high precision; W in dgrad then needs no second row cast.
    {.name = "rowwise_hp_wgrad",
     .forward = {detail::kRowE4m3, detail::kRowE4m3, Accumulation::fast},
     .dgrad = {detail::kRowE4m3, detail::kTensorE4m3, Accumulation::full},
     .wgrad = {detail::kBf16, detail::kBf16, Accumulation::full},
     .power_of_two = true,
     .small_shapes = detail::kSmallForRowwise},
}};

/// The recipe of that exact name; "rowwise_with_gw_hp", the name in TorchTitan, is rowwise_hp_wgrad. nullptr if there
/// is none; recipe_names() then says what there is.
[[nodiscard]] constexpr const Recipe* find_recipe(std::string_view name) {
  if (name == "rowwise_with_gw_hp") name = "rowwise_hp_wgrad";
  for (const Recipe& recipe : kRecipes) {
    if (recipe.name == name) return &recipe;
  }
  return nullptr;
}

[[nodiscard]] constexpr std::array<std::string_view, kRecipes.size()> recipe_names() {
  std::array<std::string_view, kRecipes.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kRecipes[i].name;
  return names;
}

/// Why a layer with W [n, k] stays in bf16, for the table that every run prints; nothing if it runs in FP8.
/// `ignore_size` converts small layers as well, but not those whose rows the FP8 products cannot address.
[[nodiscard]] constexpr std::optional<std::string_view> stays_bf16(const Recipe& recipe, std::int64_t n, std::int64_t k,
                                                                   bool ignore_size) {
  constexpr std::int64_t kAlignment = 16;  // bytes, hence codes, between the starts of rows
  if (!recipe.uses_fp8()) return "the recipe is bf16";
  if (n % kAlignment != 0) return "N is not a multiple of 16";
  if (k % kAlignment != 0) return "K is not a multiple of 16";
  if (ignore_size) return std::nullopt;
  for (const SmallShape& small : recipe.small_shapes) {
    if (n <= small.n_at_most && k <= small.k_at_most) return small.reason;
  }
  return std::nullopt;
}

}  // namespace octet::fp8
