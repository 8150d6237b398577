// What producers leave beside a row of their output while it is in registers: codes under the row's own scale, maxima.
#pragma once

#include "kernels/arguments.h"
#include "kernels/block_fold.h"
#include "kernels/row.h"

namespace octet::kernels {

/// As rule.scale(). Powers of two without the division in double that a whole block would wait for: the exponent of
/// max / amax is the difference of theirs, less one where amax has the larger mantissa, which is the borrow of
/// subtracting their bits. Rounding a quotient cannot reach the next power of two, as amax has eight bits.
OCTET_DEVICE float scale_of(const fp8::ScaleRule& rule, bf16 amax) {
  constexpr std::uint16_t kAboveFloor = 0x2B8D;  // the smallest bf16 above fp8::kAmaxFloor
  if (!rule.power_of_two() || amax.bits < kAboveFloor || amax.bits >= 0x7F80) return rule.scale(to_float(amax));
  constexpr std::uint32_t kOne = 0x3F80'0000;
  return fp8::float_of((fp8::bits_of(rule.max()) - fp8::bits_of(to_float(amax)) + kOne) & fp8::kFloatInfinity);
}

/// The scale of row `index`; its inverse and its amax are stored by one thread.
OCTET_DEVICE float leave_scale(const Measured& out, bf16 amax, Index index) {
  const float scale = scale_of(out.rule, amax);
  if (thread_index() == 0) {
    out.scale_inverse[index] = fp8::inverse(scale);
    if (out.row_amax != nullptr) out.row_amax[index] = amax;
  }
  return scale;
}

template <fp8::Format F, int V, BlockRows R>
OCTET_DEVICE void leave_row(const Measured& out, const RowVectors<V>& row, const RowPlace<V>& place, Index index,
                            ColumnFold<V>& columns, BlockFold<std::uint32_t, R>& maxima) {
  columns.fold(row);
  if (out.codes == nullptr) return;
  const float scale = leave_scale(out, bf16{maxima.largest_half(row.largest())}, index);
  row.template encode<F>(out.codes + index * place.cols, scale, place);
}

}  // namespace octet::kernels

// The instances of a row kernel: <name>_<format>_<vectors per thread>. Up to 1024 threads, hence 64 registers: four
// vectors reach rows of 32,768, and a multiprocessor runs 1024 threads, in as many blocks as the rows' length gives.
#define OCTET_ROW_KERNEL(bound, name, Arguments, body, F, V)                             \
  bound name##_##F##_##V(OCTET_ARGUMENTS(octet::kernels::Arguments) arguments) {         \
    octet::kernels::await_previous_kernels();                                            \
    octet::kernels::body<octet::fp8::Format::F, V>(octet::kernels::in_place(arguments)); \
  }
#define OCTET_ROW_KERNELS_OF(name, Arguments, body, F)              \
  OCTET_ROW_KERNEL(OCTET_KERNEL(1024), name, Arguments, body, F, 1) \
  OCTET_ROW_KERNEL(OCTET_KERNEL(1024), name, Arguments, body, F, 2) \
  OCTET_ROW_KERNEL(OCTET_KERNEL(1024), name, Arguments, body, F, 4)
#define OCTET_ROW_KERNELS(name, Arguments, body)          \
  OCTET_ROW_KERNELS_OF(name, Arguments, body, OCTET_E4M3) \
  OCTET_ROW_KERNELS_OF(name, Arguments, body, OCTET_E5M2)
