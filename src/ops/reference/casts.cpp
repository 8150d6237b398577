// Casts slice by slice through the rule in src/fp8, which alone decides what a scale and a code are.
#include "ops/reference/casts.h"

#include <cmath>

#include "fp8/cast.h"

namespace octet::ops::reference {
namespace {

using fp8::Format;

/// Calls visit.operator()<F>() with the format that `format` names.
template <typename Visit>
auto with_format(Format format, Visit visit) {
  switch (format) {
    case Format::e4m3fn:
      return visit.template operator()<Format::e4m3fn>();
    case Format::e4m3fnuz:
      return visit.template operator()<Format::e4m3fnuz>();
    case Format::e5m2:
      return visit.template operator()<Format::e5m2>();
    case Format::e5m2fnuz:
      return visit.template operator()<Format::e5m2fnuz>();
  }
  throw Failure("no FP8 format has the number {}", static_cast<int>(format));
}

}  // namespace

Vector widen(std::span<const bf16> x) {
  Vector wide(x.size());
  for (Index i = 0; i < std::ssize(x); ++i) wide[i] = static_cast<double>(to_float(x[i]));
  return wide;
}

Vector widen(std::span<const float> x) {
  return {x.begin(), x.end()};
}

Vector decode(std::span<const std::uint8_t> codes, Format format) {
  return with_format(format, [&]<Format F>() {
    Vector values(codes.size());
    for (Index i = 0; i < std::ssize(codes); ++i) {
      values[i] = static_cast<double>(fp8::decode(fp8::Code<F>{codes[i]}));
    }
    return values;
  });
}

std::vector<bf16> row_maxima(std::span<const bf16> x, Index rows, Index cols) {
  std::vector<bf16> maxima;
  for (Index r = 0; r < rows; ++r) maxima.push_back(fp8::amax(x.subspan(r * cols, cols)));
  return maxima;
}

std::vector<bf16> column_maxima(std::span<const bf16> x, Index rows, Index cols) {
  return row_maxima(transpose(x, rows, cols), cols, rows);
}

Codes cast_rows(std::span<const bf16> x, std::span<const bf16> maxima, Index rows, Index cols, fp8::ScaleRule rule) {
  return with_format(rule.format(), [&]<Format F>() {
    Codes result;
    for (const bf16 amax : maxima) result.scale_inverse.push_back(fp8::inverse(rule.scale(to_float(amax))));
    for (Index r = 0; r < rows; ++r) {
      const float scale = rule.scale(to_float(maxima[maxima.size() == 1 ? 0 : r]));
      for (Index c = 0; c < cols; ++c) result.codes.push_back(fp8::cast_element<F>(x[r * cols + c], scale).bits);
    }
    return result;
  });
}

Codes quantize_tensor(std::span<const bf16> x, fp8::ScaleRule rule) {
  return with_format(rule.format(), [&]<Format F>() {
    std::vector<fp8::Code<F>> typed(x.size());
    const float scale = fp8::cast_slice<F>(x, typed, rule);
    Codes result{{}, {fp8::inverse(scale)}};
    for (const fp8::Code<F> code : typed) result.codes.push_back(code.bits);
    return result;
  });
}

Codes quantize_rows(std::span<const bf16> x, Index rows, Index cols, fp8::ScaleRule rule) {
  Codes result;
  for (Index r = 0; r < rows; ++r) {
    const Codes one = quantize_tensor(x.subspan(r * cols, cols), rule);
    result.codes.insert(result.codes.end(), one.codes.begin(), one.codes.end());
    result.scale_inverse.push_back(one.scale_inverse[0]);
  }
  return result;
}

double scale_inverse_of_row(std::span<const float> scale_inverse, Index row) {
  if (scale_inverse.empty()) return 1;
  return static_cast<double>(scale_inverse.size() == 1 ? scale_inverse[0] : scale_inverse[row]);
}

Vector dequantize(const Codes& codes, Format format, Index rows, Index cols) {
  Vector values = decode(codes.codes, format);
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) values[r * cols + c] *= scale_inverse_of_row(codes.scale_inverse, r);
  }
  return values;
}

namespace {

bool overflows(float scaled, Format format) {
  return with_format(format, [&]<Format F>() {
    const auto code = fp8::encode_non_saturating<F>(scaled);
    return fp8::is_nan(code) || fp8::is_infinite(code);
  });
}

bool becomes_zero(float scaled, Format format) {
  return with_format(format, [&]<Format F>() { return fp8::decode(fp8::encode<F>(scaled)) == 0; });
}

}  // namespace

CastCounts cast_statistics(std::span<const bf16> x, std::span<const float> scale_inverse, Format format, Index rows,
                           Index cols) {
  CastCounts counts;
  const auto max = static_cast<double>(fp8::info(format).max);
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) {
      const auto value = static_cast<double>(to_float(x[r * cols + c]));
      const double scaled = value / scale_inverse_of_row(scale_inverse, r);
      if (value != 0 && becomes_zero(static_cast<float>(scaled), format)) ++counts.underflowed;
      if (overflows(static_cast<float>(scaled), format)) ++counts.overflowed;
      if (std::abs(scaled) > max) ++counts.saturated;
    }
  }
  return counts;
}

}  // namespace octet::ops::reference
