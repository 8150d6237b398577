// Element types of tensors. FP8 bytes carry their format here, so that two formats can never be mixed silently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fp8/bf16.h"
#include "fp8/formats.h"

namespace octet {

enum class DType : std::uint8_t { f32, bf16, i32, f64, u64, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz };

[[nodiscard]] constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::u64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
      return 2;
    default:
      return 1;
  }
}

[[nodiscard]] constexpr std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::f64:
      return "f64";
    case DType::u64:
      return "u64";
    case DType::e4m3fn:
      return "e4m3fn";
    case DType::e4m3fnuz:
      return "e4m3fnuz";
    case DType::e5m2:
      return "e5m2";
    case DType::e5m2fnuz:
      return "e5m2fnuz";
  }
  return "unknown";
}

[[nodiscard]] constexpr DType dtype_of(fp8::Format format) {
  switch (format) {
    case fp8::Format::e4m3fn:
      return DType::e4m3fn;
    case fp8::Format::e4m3fnuz:
      return DType::e4m3fnuz;
    case fp8::Format::e5m2:
      return DType::e5m2;
    case fp8::Format::e5m2fnuz:
      return DType::e5m2fnuz;
  }
  return DType::e4m3fn;
}

/// The dtype of a C++ element type: `kDType<bf16>`, `kDType<fp8::e4m3fn>`.
template <typename T>
inline constexpr DType kDType = T::no_dtype_for_this_type;
template <>
inline constexpr DType kDType<float> = DType::f32;
template <>
inline constexpr DType kDType<double> = DType::f64;
template <>
inline constexpr DType kDType<std::uint64_t> = DType::u64;
template <>
inline constexpr DType kDType<std::int32_t> = DType::i32;
template <>
inline constexpr DType kDType<bf16> = DType::bf16;
template <fp8::Format F>
inline constexpr DType kDType<fp8::Code<F>> = dtype_of(F);

}  // namespace octet
