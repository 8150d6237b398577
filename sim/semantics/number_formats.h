// The number formats that instructions read and write in parts of registers: their bits, their values in double
// precision, which holds all of them exactly, and the codes of values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/small_floats.h"

namespace octet::sim {

/// FP8, BF8, FP6, BF6, FP4.
template <SmallFormat Format>
struct Small {
  static constexpr std::size_t kBits = static_cast<std::size_t>(Format.bits());
  static double value(u32 code) { return double{kDecoded<Format>[code]}; }
  static u32 code(double value) { return encode(value, Format); }
  static u32 stochastic_code(double value, u32 random) { return encode_stochastic(value, Format, random); }
};

struct Half {
  static constexpr std::size_t kBits = 16;
  static double value(u32 code) { return double{decode_half(code)}; }
  static u32 code(double value) { return encode_half(value); }
};
/// The values whose codes these two are asked for fit a float, or overflow it as they overflow the format: rounding to
/// a float first changes nothing.
struct Bf16 {
  static constexpr std::size_t kBits = 16;
  static double value(u32 code) { return double{decode_bf16(code)}; }
  static u32 code(double value) { return encode_bf16(static_cast<float>(value)); }
};
struct Single {
  static constexpr std::size_t kBits = 32;
  static double value(u32 code) { return double{as_float(code)}; }
  static u32 code(double value) {
    const u32 bits = as_bits(static_cast<float>(value));
    return is_nan_bits(bits) ? kDefaultNan : bits;
  }
};

}  // namespace octet::sim
