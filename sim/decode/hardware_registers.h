// Registers of the hardware's state that s_getreg and s_setreg name. LLVM's "Syntax of AMDGPU Instruction Operands",
// hwreg; AMD Instinct CDNA4 ISA, chapter 3 "Kernel State".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace octet::sim {

inline constexpr std::uint32_t kModeRegister = 1;
inline constexpr std::uint32_t kHardwareIdRegister = 4;
inline constexpr std::uint32_t kXccIdRegister = 20;

/// A field of a register.
struct HardwareField {
  std::uint32_t id;
  std::uint32_t offset;  ///< bits
  std::uint32_t size;    ///< bits, 1 to 32
};

/// "hwreg(HW_REG_MODE, 4, 2)", "hwreg(20)": the instruction's 16 bits. Nothing for other texts, and for registers that
/// have no name here.
[[nodiscard]] std::optional<std::uint64_t> parse_hardware_register(std::string_view text);

/// What the 16 bits name.
[[nodiscard]] constexpr HardwareField hardware_field(std::uint64_t encoding) {
  const auto bits = static_cast<std::uint32_t>(encoding);
  return {bits & 0x3FU, bits >> 6 & 0x1FU, (bits >> 11 & 0x1FU) + 1};
}

}  // namespace octet::sim
