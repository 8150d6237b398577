// The machine code of src/kernels for AMD's GPUs, embedded when the program was built, and which GPU runs which.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "gpu/driver.h"

namespace octet::gpu {

struct CodeObject {
  std::string_view name;  ///< of the source file
  std::string_view arch;  ///< "gfx942"
  const void* data;
};

/// All, of every architecture.
[[nodiscard]] std::span<const CodeObject> code_objects();

/// Why no code object runs on a GPU; empty where some do.
[[nodiscard]] std::string refusal_of_arch(const DeviceFacts& facts);

}  // namespace octet::gpu
