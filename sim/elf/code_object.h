// A code object: machine code for one GPU, its kernels, their descriptors and the layout of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/elf/source_lines.h"

namespace octet::sim {

/// What an instruction means may depend on it: FP8 is e4m3fnuz and e5m2fnuz on CDNA3, e4m3fn and e5m2 on CDNA4.
enum class Generation : std::uint8_t { cdna3, cdna4 };
inline constexpr auto kCdna3 = Generation::cdna3;
inline constexpr auto kCdna4 = Generation::cdna4;

/// As LLVM and HIP spell it: "gfx942", "gfx950".
[[nodiscard]] std::string_view processor(Generation generation);

/// Bytes of LDS that a compute unit has, and a workgroup at most.
[[nodiscard]] constexpr std::uint32_t lds_bytes(Generation generation) {
  return generation == Generation::cdna3 ? 64 * 1024 : 160 * 1024;
}

/// An argument in a kernel's segment of arguments. `kind` is the metadata's .value_kind: "by_value", "global_buffer",
/// or "hidden_..." for what the launch fills in.
struct Argument {
  std::string name;  ///< empty where the compiler left it out
  std::string kind;
  std::uint32_t offset;
  std::uint32_t size;
};

/// Which values a wave finds in its first SGPRs, in the order of the members, as the descriptor's flags say.
struct InitialSgprs {
  bool private_segment_buffer;
  bool dispatch_packet;
  bool queue;
  bool arguments;
  bool dispatch_id;
  bool flat_scratch;
  bool private_segment_size;
  std::uint32_t preloaded_dwords;  ///< of the arguments, behind the others
  std::uint32_t preload_offset;    ///< in dwords
  std::uint32_t user_count;        ///< of all above; what follows is:
  bool workgroup_x, workgroup_y, workgroup_z;
};

struct Kernel {
  std::string name;
  std::uint64_t entry;       ///< address of its first instruction, before loading
  std::uint64_t code_bytes;  ///< of the function's symbol
  std::uint32_t argument_bytes;
  std::uint32_t lds_bytes;
  std::uint32_t scratch_bytes;  ///< of a lane
  std::uint32_t sgprs, vgprs, agprs;
  std::uint32_t spilled_sgprs, spilled_vgprs;
  std::uint32_t largest_workgroup;  ///< lanes
  InitialSgprs initial;
  std::vector<Argument> arguments;
};

/// Of the image: [begin, end).
struct ImageRange {
  std::uint64_t begin, end;
};

struct CodeObject {
  std::string name;  ///< for errors
  Generation generation;
  std::vector<std::byte> image;  ///< the loaded segments from address 0
  std::uint64_t code_begin, code_end;
  std::vector<ImageRange> read_only;  ///< segments that kernels must not write: code and constants
  SourceLines lines;
  std::map<std::string, Kernel, std::less<>> kernels;

  /// UserError, naming the kernels there are, when there is none of that name.
  [[nodiscard]] const Kernel& kernel(std::string_view kernel_name) const;
};

/// UserError when the file is damaged, of another processor, or needs what is not modelled (another float mode than
/// clang's default, dynamic stacks); `name` stands for it in messages.
[[nodiscard]] CodeObject read_code_object(std::span<const std::byte> file, const std::string& name);

}  // namespace octet::sim
