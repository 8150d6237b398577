// A product without its pointers: what plans depend on, the letters that committed tables have for it, its text, and
// its sides in the names of kernels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "gpu/products.h"

namespace octet::gpu {

using ProductKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, DType, DType, DType, bool, bool, fp8::ScaleAxis,
                              bool, fp8::Accumulation>;

[[nodiscard]] ProductKey product_key(const Product& product);

/// Which of A and B lie transposed: '0' none, 'a', 'b', '2' both.
[[nodiscard]] char layout_letter(const Product& product);
/// 'b' bf16; FP8 with a scale a row 'r', one scale 't', 'R' and 'T' where sums are full.
[[nodiscard]] char operand_letter(const Product& product);
/// 'b' bf16, 'f' f32, '+' f32 that is added to.
[[nodiscard]] char output_letter(const Product& product);

/// A side as the names of own kernels have it: "e4m3", "e5m2", "bf16", or "bf16t", which lies transposed.
[[nodiscard]] std::string_view kernel_side(DType dtype, bool transposed);

/// "[8192, 4096] over 4096, bf16 x bf16 -> f32, added to"
[[nodiscard]] std::string text_of(const Product& product);

}  // namespace octet::gpu
