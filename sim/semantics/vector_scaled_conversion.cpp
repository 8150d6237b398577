// Conversions of CDNA4 between FP8, BF8, FP6, BF6, FP4 and wider floats that multiply or divide by a power of two on
// the way, and the generator of their random bits. AMD CDNA4 ISA, 7.3 "BF8 / FP8 and Smaller Formats and
// Conversions"; 12.11 VOP3 (V_CVT_SCALEF32_...), 12.8 VOP1 (V_PRNG_B32).
#include <array>
#include <cstddef>
#include <limits>

#include "sim/semantics/number_formats.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// The next state of a linear feedback shift register.
u32 next_random(u32 random) {
  return random << 1 ^ (random >> 31 != 0 ? 197U : 0U);
}

/// Those of an operand: dword after dword, each in all lanes.
template <std::size_t Dwords>
using Registers = std::array<Lanes, Dwords>;

template <typename Format, std::size_t Count>
using RegistersOf = Registers<(Format::kBits * Count + 31) / 32>;

/// Bits [first, first + Width) of a lane.
template <std::size_t Width, std::size_t Dwords>
u32 field(const Registers<Dwords>& registers, std::size_t lane, std::size_t first) {
  const std::size_t dword = first / 32;
  u64 bits = registers[dword][lane];
  if (dword + 1 < Dwords) bits |= u64{registers[dword + 1][lane]} << 32;
  return static_cast<u32>(bits >> first % 32) & ~u32{0} >> (32 - Width);
}

template <std::size_t Width, std::size_t Dwords>
void set_field(Registers<Dwords>& registers, std::size_t lane, std::size_t first, u32 value) {
  const std::size_t shift = first % 32;
  const u64 mask = u64{~u32{0} >> (32 - Width)} << shift;
  const u64 bits = u64{value} << shift;
  u32& low = registers[first / 32][lane];
  low = (low & ~static_cast<u32>(mask)) | static_cast<u32>(bits);
  if constexpr (32 % Width != 0) {
    if (shift + Width <= 32) return;
    u32& high = registers[first / 32 + 1][lane];
    high = (high & ~static_cast<u32>(mask >> 32)) | static_cast<u32>(bits >> 32);
  }
}

/// Dword `dword` of a source, with abs and neg applied.
Lanes read_source(const Wave& wave, const Operand& operand, std::size_t dword) {
  Lanes buffer;
  Lanes bits = read_lanes(wave, operand, dword, buffer);
  const u32 keep = operand.absolute ? ~kFloatSign : ~0U;
  const u32 flip = operand.negated ? kFloatSign : 0U;
  for (u32& lane : bits) lane = (lane & keep) ^ flip;
  return bits;
}

/// Where in their dwords source and destination begin, when they are parts of one: op_sel names a half by its first bit
/// or its last, a byte by its first two bits or those two that follow.
struct Parts {
  std::size_t source = 0;
  std::size_t destination = 0;
};

template <typename From, typename To, std::size_t Count>
Parts named_parts(const Instruction& instruction) {
  constexpr std::size_t kSourceBits = From::kBits < To::kBits ? Count * From::kBits : 32;  // a wider source is whole
  constexpr std::size_t kDestinationBits = Count * To::kBits;
  const u32 last = instruction.operand_count - 1U;
  u32 allowed = 0;
  const auto part = [&](std::size_t bits, u32 half, u32 byte) {
    const u32 first = bits == 16 ? half : byte;
    const u32 mask = bits >= 32 ? 0U : bits == 16 ? 1U : 3U;
    allowed |= mask << first;
    return bits * (instruction.op_sel >> first & mask);
  };
  const Parts parts{part(kSourceBits, 0, 0), part(kDestinationBits, last, 2)};
  if ((instruction.op_sel & ~allowed) != 0) throw Failure("op_sel names parts that the instruction does not have");
  return parts;
}

/// 2^(e - 127) for the exponent e of a float, or its inverse; 255 is NaN. What else the float is does not count.
double scale_factor(u32 bits, bool inverse) {
  const int exponent = static_cast<int>(bits >> 23 & 0xFFU);
  if (exponent == 255) return std::numeric_limits<double>::quiet_NaN();
  return power_of_two(inverse ? 127 - exponent : exponent - 127);
}

/// Narrower codes are those of values divided by the scale, wider ones those of values multiplied by it. All elements
/// of a lane have one scale; each has the next random bits. The rest of a dword of which a part is written stays.
template <typename From, typename To, std::size_t Count, bool Stochastic>
void convert_registers(Wave& wave, const Instruction& instruction, const RegistersOf<From, Count>& source) {
  constexpr bool kNarrows = To::kBits < From::kBits;
  const Parts parts = named_parts<From, To, Count>(instruction);
  std::array<Lanes, 2> buffers;
  const Lanes& scale = read_lanes(wave, instruction.operands[instruction.operand_count - 1U], 0, buffers[0]);
  const Lanes& seed = read_lanes(wave, instruction.operands[2], 0, buffers[1]);
  RegistersOf<To, Count> result;
  for (std::size_t dword = 0; dword < result.size(); ++dword) {
    result[dword] = vector_row(wave, instruction.operands[0], dword);
  }
  for_active_lanes(wave, [&](std::size_t lane) {
    const double factor = scale_factor(scale[lane], kNarrows);
    u32 random = seed[lane];
    for (std::size_t item = 0; item < Count; ++item) {
      const u32 from = field<From::kBits>(source, lane, parts.source + item * From::kBits);
      const double value = From::value(from) * factor;
      u32 to = 0;
      if constexpr (Stochastic) {
        to = To::stochastic_code(value, random);
        random = next_random(random);
      } else {
        to = To::code(value);
      }
      set_field<To::kBits>(result, lane, parts.destination + item * To::kBits, to);
    }
  });
  for (std::size_t dword = 0; dword < result.size(); ++dword) {
    vector_row(wave, instruction.operands[0], dword) = result[dword];
  }
}

/// D, elements of one operand, [random bits,] scale.
template <typename From, typename To, std::size_t Count, bool Stochastic = false>
void convert(Wave& wave, const Instruction& instruction) {
  RegistersOf<From, Count> source;
  for (std::size_t dword = 0; dword < source.size(); ++dword) {
    source[dword] = read_source(wave, instruction.operands[1], dword);
  }
  convert_registers<From, To, Count, Stochastic>(wave, instruction, source);
}

template <typename From, typename To, std::size_t Count>
constexpr Execute kStochastic = convert<From, To, Count, true>;

/// D, floats of two operands in turns, scale.
template <typename To, std::size_t Each>
void convert_two(Wave& wave, const Instruction& instruction) {
  Registers<2 * Each> source;
  for (std::size_t item = 0; item < 2 * Each; ++item) {
    source[item] = read_source(wave, instruction.operands[1 + item % 2], item / 2);
  }
  convert_registers<Single, To, 2 * Each, false>(wave, instruction, source);
}

using Fp8 = Small<kFp8Cdna4>;
using Bf8 = Small<kBf8Cdna4>;
using Fp6 = Small<kFp6>;
using Bf6 = Small<kBf6>;
using Fp4 = Small<kFp4>;
constexpr u32 kPart = modifier::kHalves;
constexpr u32 kFloats = modifier::kSign;
constexpr std::array kRows = std::to_array<Row>({
    {"v_prng_b32", lanes1<next_random>, modifier::kNone, kCdna4},

    {"v_cvt_scalef32_pk_fp8_f32", convert_two<Fp8, 1>, kFloats | kPart, kCdna4},
    {"v_cvt_scalef32_pk_bf8_f32", convert_two<Bf8, 1>, kFloats | kPart, kCdna4},
    {"v_cvt_scalef32_pk_fp4_f32", convert_two<Fp4, 1>, kFloats | kPart, kCdna4},
    {"v_cvt_scalef32_2xpk16_fp6_f32", convert_two<Fp6, 16>, kFloats, kCdna4},
    {"v_cvt_scalef32_2xpk16_bf6_f32", convert_two<Bf6, 16>, kFloats, kCdna4},

    {"v_cvt_scalef32_pk_fp8_f16", convert<Half, Fp8, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk_bf8_f16", convert<Half, Bf8, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk_fp4_f16", convert<Half, Fp4, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk32_fp6_f16", convert<Half, Fp6, 32>, modifier::kNone, kCdna4},
    {"v_cvt_scalef32_pk32_bf6_f16", convert<Half, Bf6, 32>, modifier::kNone, kCdna4},
    {"v_cvt_scalef32_pk_fp8_bf16", convert<Bf16, Fp8, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk_bf8_bf16", convert<Bf16, Bf8, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk_fp4_bf16", convert<Bf16, Fp4, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk32_fp6_bf16", convert<Bf16, Fp6, 32>, modifier::kNone, kCdna4},
    {"v_cvt_scalef32_pk32_bf6_bf16", convert<Bf16, Bf6, 32>, modifier::kNone, kCdna4},

    {"v_cvt_scalef32_sr_fp8_f32", kStochastic<Single, Fp8, 1>, kFloats | kPart, kCdna4},
    {"v_cvt_scalef32_sr_bf8_f32", kStochastic<Single, Bf8, 1>, kFloats | kPart, kCdna4},
    {"v_cvt_scalef32_sr_pk_fp4_f32", kStochastic<Single, Fp4, 2>, kFloats | kPart, kCdna4},
    {"v_cvt_scalef32_sr_pk32_fp6_f32", kStochastic<Single, Fp6, 32>, kFloats, kCdna4},
    {"v_cvt_scalef32_sr_pk32_bf6_f32", kStochastic<Single, Bf6, 32>, kFloats, kCdna4},
    {"v_cvt_scalef32_sr_fp8_f16", kStochastic<Half, Fp8, 1>, kPart, kCdna4},
    {"v_cvt_scalef32_sr_bf8_f16", kStochastic<Half, Bf8, 1>, kPart, kCdna4},
    {"v_cvt_scalef32_sr_pk_fp4_f16", kStochastic<Half, Fp4, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_sr_pk32_fp6_f16", kStochastic<Half, Fp6, 32>, modifier::kNone, kCdna4},
    {"v_cvt_scalef32_sr_pk32_bf6_f16", kStochastic<Half, Bf6, 32>, modifier::kNone, kCdna4},
    {"v_cvt_scalef32_sr_fp8_bf16", kStochastic<Bf16, Fp8, 1>, kPart, kCdna4},
    {"v_cvt_scalef32_sr_bf8_bf16", kStochastic<Bf16, Bf8, 1>, kPart, kCdna4},
    {"v_cvt_scalef32_sr_pk_fp4_bf16", kStochastic<Bf16, Fp4, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_sr_pk32_fp6_bf16", kStochastic<Bf16, Fp6, 32>, modifier::kNone, kCdna4},
    {"v_cvt_scalef32_sr_pk32_bf6_bf16", kStochastic<Bf16, Bf6, 32>, modifier::kNone, kCdna4},

    {"v_cvt_scalef32_f32_fp8", convert<Fp8, Single, 1>, kPart, kCdna4},
    {"v_cvt_scalef32_f32_bf8", convert<Bf8, Single, 1>, kPart, kCdna4},
    {"v_cvt_scalef32_f16_fp8", convert<Fp8, Half, 1>, kPart, kCdna4},
    {"v_cvt_scalef32_f16_bf8", convert<Bf8, Half, 1>, kPart, kCdna4},
    {"v_cvt_scalef32_pk_f32_fp8", convert<Fp8, Single, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk_f32_bf8", convert<Bf8, Single, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk_f32_fp4", convert<Fp4, Single, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk32_f32_fp6", convert<Fp6, Single, 32>, modifier::kNone, kCdna4},
    {"v_cvt_scalef32_pk32_f32_bf6", convert<Bf6, Single, 32>, modifier::kNone, kCdna4},
    {"v_cvt_scalef32_pk_f16_fp8", convert<Fp8, Half, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk_f16_bf8", convert<Bf8, Half, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk_f16_fp4", convert<Fp4, Half, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk32_f16_fp6", convert<Fp6, Half, 32>, modifier::kNone, kCdna4},
    {"v_cvt_scalef32_pk32_f16_bf6", convert<Bf6, Half, 32>, modifier::kNone, kCdna4},
    {"v_cvt_scalef32_pk_bf16_fp8", convert<Fp8, Bf16, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk_bf16_bf8", convert<Bf8, Bf16, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk_bf16_fp4", convert<Fp4, Bf16, 2>, kPart, kCdna4},
    {"v_cvt_scalef32_pk32_bf16_fp6", convert<Fp6, Bf16, 32>, modifier::kNone, kCdna4},
    {"v_cvt_scalef32_pk32_bf16_bf6", convert<Bf6, Bf16, 32>, modifier::kNone, kCdna4},
});

}  // namespace

Table vector_scaled_conversion_table() {
  return kRows;
}

}  // namespace octet::sim
