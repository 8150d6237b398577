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
///     i32=-3  u32=7  i64=..  u64=..  f32=0.5   a value, of the argument's size
///     zeros=BYTES                              a buffer of zeros
///     bytes=BYTES                              a buffer whose bytes count 0, 1, ... 255, 0, ...
///     unwritten=BYTES                          a buffer that a kernel has to write before it reads
///     file=PATH                                a buffer with a file's contents
///
/// A buffer's word may end in ">PATH": the buffer is written there after the run. UserError for a word that is not one
/// of these or does not fit its argument.
[[nodiscard]] LaunchArguments parse_arguments(const Kernel& kernel, const std::vector<std::string>& words,
                                              Memory& memory);

/// "4", "4,2" or "4,2,1". UserError when it is none; `what` stands for it.
[[nodiscard]] Extent parse_extent(const std::string& text, const char* what);

/// UserError when it cannot be read.
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path& path);

}  // namespace octet::sim
