#include "convert/tensor_values.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "fp8/bf16.h"
#include "fp8/formats.h"

namespace octet {
namespace {

/// Element `index` of a tensor; files of others may not align it.
template <typename T>
T element(const FileTensor& tensor, std::uint64_t index) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

void read_fp8(const StoredValues& stored, std::uint64_t first, std::span<float> to) {
  check(stored.inverse_scales != nullptr, "FP8 weights have inverse scales");
  const std::uint64_t columns = stored.tensor->shape.back();
  const std::uint64_t blocks = (columns + fp8_block - 1) / fp8_block;
  std::uint64_t row = columns == 0 ? 0 : first / columns;
  std::uint64_t column = columns == 0 ? 0 : first % columns;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const fp8::Code<fp8::Format::e4m3fn> code{element<std::uint8_t>(*stored.tensor, first + i)};
    const float scale = element<float>(*stored.inverse_scales, row / fp8_block * blocks + column / fp8_block);
    to[i] = fp8::decode(code) * scale;
    if (++column == columns) {
      column = 0;
      ++row;
    }
  }
}

}  // namespace

float half_to_float(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const int mantissa = bits & 0x3FF;
  float magnitude = 0;
  if (exponent == 0x1F) {
    magnitude = mantissa != 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa + 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

void read_values(const StoredValues& stored, std::uint64_t first, std::span<float> to) {
  const FileTensor& tensor = *stored.tensor;
  switch (tensor.dtype) {
    case FileDType::f32:
      if (!to.empty()) std::memcpy(to.data(), tensor.bytes.data() + first * sizeof(float), to.size_bytes());
      return;
    case FileDType::bf16:
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = to_float(element<bf16>(tensor, first + i));
      return;
    case FileDType::f16:
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = half_to_float(element<std::uint16_t>(tensor, first + i));
      return;
    case FileDType::f8_e4m3:
      read_fp8(stored, first, to);
      return;
    default:
      check(false, "weights are floating-point numbers");
  }
}

}  // namespace octet
