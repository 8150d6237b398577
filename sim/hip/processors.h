// The AMD GPUs that the machine may pretend to have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/elf/code_object.h"

namespace octet::sim::hip {

/// Sizes are those that ROCm reports of a whole, unpartitioned device; clocks are nominal and nothing runs at them.
struct Processor {
  std::string_view name;                 ///< "gfx942"
  std::string_view target;               ///< with features, as hipDeviceProp_t's gcnArchName has it
  std::string_view product;              ///< "AMD Instinct MI300X"
  std::optional<Generation> generation;  ///< nothing for one whose code cannot be executed
  std::uint8_t elf_machine;              ///< EF_AMDGPU_MACH of its code objects
  int major, minor, stepping;            ///< 9, 4, 2
  int compute_units;
  int lanes;  ///< of a wave
  int lds_bytes;
  int l2_bytes;
  int clock_khz;
  int memory_clock_khz;
  int memory_bits;
};

/// Null when there is none of that name.
[[nodiscard]] const Processor* find_processor(std::string_view name);

/// "gfx942, gfx950, ...".
[[nodiscard]] std::string processor_names();

/// Whether an ELF file is a code object that the processor executes: of its machine, and of the modes of XNACK and
/// SRAMECC that ROCm runs these devices in (off and on). False for what is no code object at all.
[[nodiscard]] bool fits(const Processor& processor, std::span<const std::byte> file);

}  // namespace octet::sim::hip
