// What a launch writes for a kernel to read: its arguments, and the packet that describes the launch.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/elf/code_object.h"

namespace octet::sim {

struct LaunchConfig;

/// The kernel's arguments as `explicit_arguments` gives them, from offset 0, and behind them the hidden ones.
/// UserError when there are more of them than the kernel takes, fewer, or when it asks for a hidden one that is not
/// modelled.
[[nodiscard]] std::vector<std::byte> argument_segment(const Kernel& kernel, const LaunchConfig& config,
                                                      std::span<const std::byte> explicit_arguments);

/// The AQL packet of a dispatch, 64 bytes.
[[nodiscard]] std::vector<std::byte> dispatch_packet(const Kernel& kernel, const LaunchConfig& config);

}  // namespace octet::sim
