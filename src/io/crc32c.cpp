// A byte at a time from a table made at compile time: event files grow by kilobytes a step.
#include "io/crc32c.h"

#include <array>

namespace octet {
namespace {

constexpr std::uint32_t kReflectedPolynomial = 0x82F63B78;

constexpr std::array<std::uint32_t, 256> kRemainders = [] {
  std::array<std::uint32_t, 256> remainders{};
  for (std::uint32_t byte = 0; byte < remainders.size(); ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1U) ^ ((remainder & 1U) != 0 ? kReflectedPolynomial : 0);
    }
    remainders[byte] = remainder;
  }
  return remainders;
}();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) crc = (crc >> 8U) ^ kRemainders[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU];
  return ~crc;
}

}  // namespace octet
