// Prints what src/fp8 makes of every code and of many floats, for ml_dtypes_check.py. One section per format:
// "decode <format>", then 256 times the bits of a float; "encode <format>", then lines "<float> <saturated> <escaped>".
#include <cstdint>
#include <cstdio>

#include "fp8/e8m0.h"
#include "fp8/formats.h"

namespace octet::fp8 {
namespace {

template <typename Byte>
void print_decoded(const char* name) {
  std::printf("decode %s\n", name);
  for (unsigned code = 0; code < 256; ++code) {
    std::printf("%08x\n", static_cast<unsigned>(bits_of(decode(Byte{static_cast<std::uint8_t>(code)}))));
  }
}

template <Format F>
void print_encoded(std::uint32_t bits) {
  const float x = float_of(bits);
  std::printf("%08x %02x %02x\n", static_cast<unsigned>(bits), unsigned{encode<F>(x).bits},
              unsigned{encode_non_saturating<F>(x).bits});
}

/// Every bf16 value, and as many floats spread over all bit patterns by a multiplier that is odd, hence a permutation.
template <Format F>
void print_tables() {
  print_decoded<Code<F>>(name(F).data());
  std::printf("encode %s\n", name(F).data());
  for (std::uint32_t i = 0; i < 0x10000; ++i) print_encoded<F>(i << 16);
  for (std::uint32_t i = 0; i < 0x10000; ++i) print_encoded<F>(i * 2654435761U);
}

}  // namespace
}  // namespace octet::fp8

int main() {
  using octet::fp8::Format;
  octet::fp8::print_tables<Format::e4m3fn>();
  octet::fp8::print_tables<Format::e4m3fnuz>();
  octet::fp8::print_tables<Format::e5m2>();
  octet::fp8::print_tables<Format::e5m2fnuz>();
  octet::fp8::print_decoded<octet::fp8::e8m0>("e8m0");
  return 0;
}
