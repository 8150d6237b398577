// Arguments of a kernel as words of a command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/elf/code_object.h"
#include "sim/launch/launch.h"
#include "sim/memory/memory.h"

namespace octet::sim {

/// A buffer that was made for an argument.
struct ArgumentBuffer {
  std::size_t argument;  ///< its number, from 0
  std::string name;      ///< of the argument
  std::uint64_t address;
  std::uint64_t size;
  std::optional<std::filesystem::path> output;  ///< where to write it after the run
};

struct LaunchArguments {
  std::vector<std::byte> packed;
  std::vector<ArgumentBuffer> buffers;
};

/// One word for each explicit argument of the kernel, in its order:
///
///     u8= i8= u16= i16= u32= i32= u64= i64=    an integer of the argument's size
///     f32= f64=                                a float
///     KIND=...                                 a buffer, as buffer_contents() makes it
///
/// A buffer's word may end in ">PATH": the buffer is written there after the run. UserError for a word that is not one
/// of these or does not fit its argument.
[[nodiscard]] LaunchArguments parse_arguments(const Kernel& kernel, const std::vector<std::string>& words,
                                              Memory& memory);

/// "4", "4,2" or "4,2,1". UserError when it is none; `what` stands for it.
[[nodiscard]] Extent parse_extent(const std::string& text, const char* what);

}  // namespace octet::sim
