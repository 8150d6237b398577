// How messages of detectors call an access.
#pragma once

#include <cstddef>
#include <string>

#include "sim/machine/access.h"
#include "sim/memory/memory.h"

namespace octet::sim {

/// "reads", "writes" or "updates".
[[nodiscard]] const char* verb(AccessKind kind);

/// "lane 3 reads 4 bytes at 0x10 of LDS"; of global memory with the allocation: "lane 3 reads 4 bytes at 0x1000: byte 0
/// of 'x' (4096 bytes at 0x1000)".
[[nodiscard]] std::string describe(const Access& access, std::size_t lane, const Memory& memory);

}  // namespace octet::sim
