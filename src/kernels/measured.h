// What producers leave beside a row of their output while it is in registers: codes under the row's own scale, maxima.
#pragma once

#include "kernels/arguments.h"
#include "kernels/row.h"

namespace octet::kernels {

/// The scale of row `index`; its inverse and its amax are stored by one thread.
OCTET_DEVICE float leave_scale(const Measured& out, bf16 amax, Index index) {
  const float scale = out.rule.scale(to_float(amax));
  if (thread_index() == 0) {
    out.scale_inverse[index] = fp8::inverse(scale);
    if (out.row_amax != nullptr) out.row_amax[index] = amax;
  }
  return scale;
}

template <fp8::Format F, int V>
OCTET_DEVICE void leave_row(const Measured& out, const RowVectors<V>& row, const RowPlace<V>& place, Index index,
                            ColumnFold<V>& columns, std::uint32_t* shared) {
  if (out.column_partials != nullptr) columns.fold(row);
  if (out.codes == nullptr) return;
  const float scale = leave_scale(out, bf16{block_max(row.largest(), shared)}, index);
  row.template encode<F>(out.codes + index * place.cols, scale, place);
}

}  // namespace octet::kernels

// The instances of a row kernel: <name>_<format>_<vectors per thread>. Up to 512 threads: eight vectors reach rows of
// 32,768.
#define OCTET_ROW_KERNEL(name, Arguments, body, F, V)                      \
  OCTET_KERNEL(512)                                                        \
  name##_##F##_##V(OCTET_ARGUMENTS(octet::kernels::Arguments) arguments) { \
    octet::kernels::body<octet::fp8::Format::F, V>(arguments);             \
  }
#define OCTET_ROW_KERNELS_OF(name, Arguments, body, F) \
  OCTET_ROW_KERNEL(name, Arguments, body, F, 1)        \
  OCTET_ROW_KERNEL(name, Arguments, body, F, 2)        \
  OCTET_ROW_KERNEL(name, Arguments, body, F, 4)        \
  OCTET_ROW_KERNEL(name, Arguments, body, F, 8)
#define OCTET_ROW_KERNELS(name, Arguments, body)      \
  OCTET_ROW_KERNELS_OF(name, Arguments, body, e4m3fn) \
  OCTET_ROW_KERNELS_OF(name, Arguments, body, e5m2)
