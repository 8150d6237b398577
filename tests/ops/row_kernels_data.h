// What the tests of the row kernels share: the levels of this machine and values to feed them.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "fp8/bf16.h"
#include "ops/cpu/row_kernels.h"

namespace octet::ops::cpu::testing {

inline std::vector<CpuIsa> levels_of_this_machine() {
  std::vector<CpuIsa> levels;
  for (const CpuIsa isa : {CpuIsa::baseline, CpuIsa::avx2, CpuIsa::avx512}) {
    if (isa <= detect_cpu_isa()) levels.push_back(isa);
  }
  return levels;
}

inline constexpr std::array kFormats{fp8::Format::e4m3fn, fp8::Format::e4m3fnuz, fp8::Format::e5m2,
                                     fp8::Format::e5m2fnuz};

/// The same numbers on every machine and library.
class Values {
 public:
  explicit Values(std::uint32_t seed) : engine_(seed) {}

  /// Near-normal with mean 0 and deviation 1.
  float normal() {
    float sum = 0;
    for (int i = 0; i < 12; ++i) sum += static_cast<float>(engine_()) * 0x1p-32F;
    return sum - 6.0F;
  }
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }

  std::vector<float> floats(Index count, float scale = 1.0F) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = scale * normal();
    return values;
  }
  std::vector<bf16> bf16s(Index count, float scale = 1.0F) {
    std::vector<bf16> values(static_cast<std::size_t>(count));
    for (bf16& value : values) value = to_bf16(scale * normal());
    return values;
  }
  /// Every kind of bf16, NaN, infinities, zeros and subnormals too, among ordinary values: one in `rarity` is special.
  std::vector<bf16> specials(Index count, std::uint32_t rarity) {
    static constexpr std::array<std::uint16_t, 10> kSpecial{0x0000, 0x8000, 0x7F80, 0xFF80, 0x7FC0,
                                                            0xFFFF, 0x0001, 0x807F, 0x7F7F, 0xFF7F};
    std::vector<bf16> values = bf16s(count);
    for (bf16& value : values) {
      if (bits() % rarity == 0) value.bits = kSpecial[bits() % kSpecial.size()];
    }
    return values;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace octet::ops::cpu::testing
