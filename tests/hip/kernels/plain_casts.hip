// Casts as they are written first, to be counted beside those of src/kernels: never part of octet. A chain of launches,
// each of which goes through memory; a cast by column whose strides are known at run time only; maxima by atomics with
// and without an order of memory.
#include "hip/kernels/plain_casts.h"
#include "kernels/prelude.h"

namespace octet::kernels {
namespace {

constexpr fp8::Format kFormat = fp8::Format::OCTET_E4M3;
constexpr fp8::ScaleRule kRule = fp8::ScaleRule::of(kFormat, true);

/// This thread's element of a grid.
OCTET_DEVICE Index element() {
  return Index{block_index()} * thread_count() + thread_index();
}

OCTET_DEVICE std::uint8_t encode(float x) {
  return static_cast<std::uint8_t>(encode_pair<kFormat>(x, 0.0F));
}

/// Magnitudes of bf16 are ordered as their bits are.
OCTET_DEVICE std::uint32_t magnitude(bf16 x) {
  return x.bits & 0x7FFFU;
}

OCTET_DEVICE bf16 with_bits(std::uint32_t bits) {
  return bf16{static_cast<std::uint16_t>(bits)};
}

// ---- a cast by row in five launches ---------------------------------------------------------------------------------

OCTET_DEVICE void magnitudes(const test::Magnitudes& a) {
  if (element() < a.count) a.to[element()] = with_bits(magnitude(a.x[element()]));
}

/// A warp a row.
OCTET_DEVICE void row_maxima(const test::RowMaxima& a) {
  const bf16* row = a.x + block_index() * a.cols;
  std::uint32_t largest = 0;
  for (Index col = thread_index(); col < a.cols; col += thread_count()) {
    largest = largest > row[col].bits ? largest : row[col].bits;
  }
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) largest = max_u16x2(largest, shuffle_xor(largest, mask));
  if (thread_index() == 0) a.amax[block_index()] = with_bits(largest);
}

OCTET_DEVICE void make_scales(const test::MakeScales& a) {
  if (element() >= a.rows) return;
  const float scale = kRule.scale(to_float(a.amax[element()]));
  a.scale[element()] = scale;
  a.scale_inverse[element()] = fp8::inverse(scale);
}

OCTET_DEVICE void scale(const test::Scale& a) {
  if (element() < a.count) a.to[element()] = to_float(a.x[element()]) * a.scale[element() / a.cols];
}

OCTET_DEVICE void clamp_and_cast(const test::ClampAndCast& a) {
  if (element() < a.count) a.codes[element()] = encode(a.x[element()]);
}

// ---- a cast by column, transposed: a thread a column, twice through its rows ----------------------------------------

OCTET_DEVICE void cast_columns(const test::CastColumns& a) {
  const Index col = element();
  if (col >= a.cols) return;
  std::uint32_t largest = 0;
  for (Index row = 0; row < a.rows; ++row) {
    largest = max_u16x2(largest, magnitude(a.x[row * a.x_row_stride + col * a.x_col_stride]));
  }
  const float scale = kRule.scale(to_float(with_bits(largest)));
  a.scale_inverse[col] = fp8::inverse(scale);
  for (Index row = 0; row < a.rows; ++row) {
    a.codes[row * a.codes_row_stride + col * a.codes_col_stride] =
        encode(to_float(a.x[row * a.x_row_stride + col * a.x_col_stride]) * scale);
  }
}

// ---- maxima of columns: each block folds its rows into memory by atomics --------------------------------------------

template <int Order>
OCTET_DEVICE void column_maxima(const test::ColumnMaxima& a) {
  const Index col = element();
  if (col >= a.cols) return;
  const Index first = block_index_y() * a.rows_each;
  const Index end = first + a.rows_each < a.rows ? first + a.rows_each : a.rows;
  std::uint32_t largest = 0;
  for (Index row = first; row < end; ++row) largest = max_u16x2(largest, magnitude(a.x[row * a.cols + col]));
  __hip_atomic_fetch_max(&a.amax[col], largest, Order, __HIP_MEMORY_SCOPE_AGENT);
}

}  // namespace
}  // namespace octet::kernels

// A kernel of a struct of tests.
#define PLAIN_KERNEL(threads, name, Arguments, ...)                               \
  OCTET_KERNEL(threads) name(OCTET_ARGUMENTS(octet::test::Arguments) arguments) { \
    octet::kernels::__VA_ARGS__(octet::kernels::in_place(arguments));             \
  }
PLAIN_KERNEL(256, plain_magnitudes, Magnitudes, magnitudes)
PLAIN_KERNEL(64, plain_row_maxima, RowMaxima, row_maxima)
PLAIN_KERNEL(256, plain_make_scales, MakeScales, make_scales)
PLAIN_KERNEL(256, plain_scale, Scale, scale)
PLAIN_KERNEL(256, plain_clamp_and_cast, ClampAndCast, clamp_and_cast)
PLAIN_KERNEL(64, plain_cast_columns, CastColumns, cast_columns)
PLAIN_KERNEL(256, plain_column_maxima_ordered, ColumnMaxima, column_maxima<__ATOMIC_ACQ_REL>)
PLAIN_KERNEL(256, plain_column_maxima_relaxed, ColumnMaxima, column_maxima<__ATOMIC_RELAXED>)
