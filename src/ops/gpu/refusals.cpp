// What NVIDIA's GPUs do not compute.
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {
namespace {

constexpr const char* kForeignFormat = "the format is fnuz, and this device computes in OCP formats";

bool is_foreign(DType dtype) {
  return dtype == DType::e4m3fnuz || dtype == DType::e5m2fnuz;
}

const char* refuse_format(const fp8::ScaleRule& rule) {
  return is_foreign(dtype_of(rule.format())) ? kForeignFormat : nullptr;
}

}  // namespace

const char* refuse_gemm(const Gemm& op) {
  if (is_foreign(op.a.dtype) || is_foreign(op.b.dtype)) return kForeignFormat;
  if (!op.is_fp8()) return nullptr;
  if (op.a.axis == ScaleAxis::none || op.b.axis == ScaleAxis::none) return "codes come without scales";
  // Rows of A are filled up to a multiple, as those of a single token are, but not where D is added to.
  if (op.n % 16 != 0 || op.k % 16 != 0 || (op.accumulate && op.m % 16 != 0)) {
    return "FP8 products take multiples of 16 only: of N, of K and of the tokens of a micro-batch";
  }
  if (op.a.dtype == DType::e5m2 && op.b.dtype == DType::e5m2) return "one side of an FP8 product must be e4m3";
  return nullptr;
}

const char* refuse_cast(const Cast& op) {
  return refuse_format(op.rule);
}

const char* refuse_column_codes(const ColumnCodes& codes) {
  return refuse_format(codes.rule);
}

const char* refuse_row_codes(const RowCodes& codes) {
  return codes.wanted ? refuse_format(codes.rule) : nullptr;
}

const char* refuse_row_codes(const RowCodes& codes, std::int64_t cols) {
  return cols > kLongestRow ? "rows are longer than 32768 elements" : refuse_row_codes(codes);
}

}  // namespace octet::ops::gpu
