// Layouts: LLVM's "User Guide for AMDGPU Backend", "Code Object V5 Metadata" (hidden arguments); "HSA Platform System
// Architecture Specification", "Kernel dispatch packet".
#include "sim/launch/arguments.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "sim/launch/launch.h"

namespace octet::sim {
namespace {

/// The value of a hidden argument; nothing for one that is not modelled. Pointers to services of the runtime are null.
std::optional<std::uint64_t> hidden_value(std::string_view kind, const LaunchConfig& config) {
  struct Value {
    std::string_view kind;
    std::uint64_t value;
  };
  const Extent& grid = config.workgroups;
  const Extent& lanes = config.lanes;
  const std::uint64_t dimensions = grid.z * lanes.z > 1 ? 3 : grid.y * lanes.y > 1 ? 2 : 1;
  const std::array values =
      std::to_array<Value>({{"hidden_block_count_x", grid.x}, {"hidden_block_count_y", grid.y},
                            {"hidden_block_count_z", grid.z}, {"hidden_group_size_x", lanes.x},
                            {"hidden_group_size_y", lanes.y}, {"hidden_group_size_z", lanes.z},
                            {"hidden_remainder_x", 0},        {"hidden_remainder_y", 0},
                            {"hidden_remainder_z", 0},        {"hidden_global_offset_x", 0},
                            {"hidden_global_offset_y", 0},    {"hidden_global_offset_z", 0},
                            {"hidden_grid_dims", dimensions}, {"hidden_dynamic_lds_size", config.dynamic_lds_bytes},
                            {"hidden_printf_buffer", 0},      {"hidden_hostcall_buffer", 0},
                            {"hidden_multigrid_sync_arg", 0}, {"hidden_heap_v1", 0},
                            {"hidden_default_queue", 0},      {"hidden_completion_action", 0},
                            {"hidden_queue_ptr", 0},          {"hidden_none", 0}});
  for (const Value& candidate : values) {
    if (kind == candidate.kind) return candidate.value;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::byte> argument_segment(const Kernel& kernel, const LaunchConfig& config,
                                        std::span<const std::byte> explicit_arguments) {
  std::uint64_t explicit_bytes = 0;
  for (const Argument& argument : kernel.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    explicit_bytes = std::max<std::uint64_t>(explicit_bytes, std::uint64_t{argument.offset} + argument.size);
  }
  if (explicit_arguments.size() != explicit_bytes) {
    throw UserError("kernel {} takes {} bytes of arguments, not {}: mend the launch", kernel.name, explicit_bytes,
                    explicit_arguments.size());
  }
  // Scalar loads come in powers of two and may read behind the last argument, up to the end of its 64 bytes.
  std::vector<std::byte> segment((std::max<std::size_t>(kernel.argument_bytes, 1) + 63) / 64 * 64);
  std::copy(explicit_arguments.begin(), explicit_arguments.end(), segment.begin());
  for (const Argument& argument : kernel.arguments) {
    if (!argument.kind.starts_with("hidden_")) continue;
    const std::optional<std::uint64_t> value = hidden_value(argument.kind, config);
    if (!value) {
      throw UserError("kernel {} reads {}, which is not modelled: avoid what asks for it", kernel.name, argument.kind);
    }
    std::memcpy(segment.data() + argument.offset, &*value, std::min<std::size_t>(argument.size, sizeof(*value)));
  }
  return segment;
}

std::vector<std::byte> dispatch_packet(const Kernel& kernel, const LaunchConfig& config) {
  std::vector<std::byte> packet(64);
  const auto put = [&](std::size_t offset, auto value) { std::memcpy(packet.data() + offset, &value, sizeof(value)); };
  const Extent& grid = config.workgroups;
  const Extent& lanes = config.lanes;
  put(4, static_cast<std::uint16_t>(lanes.x));
  put(6, static_cast<std::uint16_t>(lanes.y));
  put(8, static_cast<std::uint16_t>(lanes.z));
  put(12, grid.x * lanes.x);
  put(16, grid.y * lanes.y);
  put(20, grid.z * lanes.z);
  put(24, kernel.scratch_bytes);
  put(28, kernel.lds_bytes + config.dynamic_lds_bytes);
  return packet;
}

}  // namespace octet::sim
