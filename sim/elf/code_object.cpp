// Formats: LLVM's "User Guide for AMDGPU Backend", sections "ELF Code Object", "Code Object V5 Metadata" and "Kernel
// Descriptor".
#include "sim/elf/code_object.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "sim/elf/bytes.h"
#include "sim/elf/elf_file.h"
#include "sim/elf/msgpack.h"

namespace octet::sim {
namespace {

constexpr std::uint16_t kAmdGpu = 224;       // EM_AMDGPU
constexpr std::uint8_t kHsa = 64;            // ELFOSABI_AMDGPU_HSA
constexpr std::uint32_t kMetadataNote = 32;  // NT_AMDGPU_METADATA

Generation generation_of(const ElfFile& elf, const std::string& name) {
  if (elf.machine != kAmdGpu || elf.os_abi != kHsa) {
    throw UserError("{}: is not for an AMD GPU: compile with --offload-arch=gfx942 or gfx950", name);
  }
  constexpr std::uint8_t kVersion5 = 3;
  constexpr std::uint8_t kVersion6 = 4;
  if (elf.abi_version != kVersion5 && elf.abi_version != kVersion6) {
    throw UserError("{}: is a code object of another version: compile with -mcode-object-version=5 or 6", name);
  }
  switch (elf.flags & 0xFFU) {  // EF_AMDGPU_MACH
    case 0x4C:
      return Generation::cdna3;
    case 0x4F:
      return Generation::cdna4;
    default:
      throw UserError("{}: is for another GPU: compile with --offload-arch=gfx942 or gfx950", name);
  }
}

void load_segments(const ElfFile& elf, CodeObject& object) {
  std::uint64_t end = 0;
  for (const Segment& segment : elf.segments) end = std::max(end, segment.address + segment.memory_size);
  object.image.resize(end);
  bool has_code = false;
  for (const Segment& segment : elf.segments) {
    std::copy(segment.bytes.begin(), segment.bytes.end(),
              object.image.begin() + static_cast<std::ptrdiff_t>(segment.address));
    if (!segment.writable) object.read_only.push_back({segment.address, segment.address + segment.memory_size});
    if (!segment.executable) continue;
    if (has_code) throw UserError("{}: has two segments of code: link it with ld.lld", object.name);
    has_code = true;
    object.code_begin = segment.address;
    object.code_end = segment.address + segment.bytes.size();
  }
  if (!has_code || object.code_begin % 4 != 0) throw UserError("{}: has no code: compile it again", object.name);
}

const Symbol& symbol(const ElfFile& elf, const std::string& symbol_name, const std::string& file) {
  const auto found = std::find_if(elf.symbols.begin(), elf.symbols.end(),
                                  [&](const Symbol& candidate) { return candidate.name == symbol_name; });
  if (found == elf.symbols.end()) throw UserError("{}: damaged: no symbol {}: compile it again", file, symbol_name);
  return *found;
}

constexpr std::uint32_t bits(std::uint32_t word, int low, int count) {
  return (word >> low) & ((1U << count) - 1U);
}

/// Only what clang sets by default is modelled: rounding to nearest even (0) and denormals kept (3) in both widths,
/// ENABLE_DX10_CLAMP and ENABLE_IEEE_MODE on, FP16_OVFL off.
void check_float_mode(std::uint32_t resources1, const Kernel& kernel, const std::string& file) {
  const bool default_modes = bits(resources1, 12, 4) == 0 && bits(resources1, 16, 4) == 15 &&
                             bits(resources1, 21, 1) == 1 && bits(resources1, 23, 1) == 1 &&
                             bits(resources1, 26, 1) == 0;
  if (!default_modes) {
    throw UserError(
        "{}: kernel {} asks for other float modes than the default, which are not modelled: "
        "compile without -fgpu-flush-denormals-to-zero",
        file, kernel.name);
  }
}

void read_descriptor(const Bytes& image, std::uint64_t at, Kernel& kernel) {
  const auto entry_offset = image.field<std::int64_t>(at + 16, "a kernel's entry");
  const auto resources1 = image.field<std::uint32_t>(at + 48, "a kernel descriptor");
  const auto resources2 = image.field<std::uint32_t>(at + 52, "a kernel descriptor");
  const auto properties = image.field<std::uint16_t>(at + 56, "a kernel descriptor");
  const auto preload = image.field<std::uint16_t>(at + 58, "a kernel descriptor");
  kernel.entry = at + static_cast<std::uint64_t>(entry_offset);
  kernel.lds_bytes = image.field<std::uint32_t>(at, "a kernel descriptor");
  kernel.scratch_bytes = image.field<std::uint32_t>(at + 4, "a kernel descriptor");
  check_float_mode(resources1, kernel, image.name());
  if (bits(properties, 11, 1) != 0) {
    throw UserError(
        "{}: kernel {} has a stack of unknown size, which is not modelled: avoid recursion and calls "
        "through pointers",
        image.name(), kernel.name);
  }
  InitialSgprs& initial = kernel.initial;
  initial.private_segment_buffer = bits(properties, 0, 1) != 0;
  initial.dispatch_packet = bits(properties, 1, 1) != 0;
  initial.queue = bits(properties, 2, 1) != 0;
  initial.arguments = bits(properties, 3, 1) != 0;
  initial.dispatch_id = bits(properties, 4, 1) != 0;
  initial.flat_scratch = bits(properties, 5, 1) != 0;
  initial.private_segment_size = bits(properties, 6, 1) != 0;
  initial.preloaded_dwords = bits(preload, 0, 7);
  initial.preload_offset = bits(preload, 7, 9);
  initial.user_count = bits(resources2, 1, 5);
  initial.workgroup_x = bits(resources2, 7, 1) != 0;
  initial.workgroup_y = bits(resources2, 8, 1) != 0;
  initial.workgroup_z = bits(resources2, 9, 1) != 0;
}

std::uint32_t number(const nlohmann::json& entry, const char* key) {
  return entry.contains(key) ? entry.at(key).get<std::uint32_t>() : 0;
}

std::string text(const nlohmann::json& entry, const char* key) {
  return entry.contains(key) ? entry.at(key).get<std::string>() : std::string();
}

Kernel read_kernel(const nlohmann::json& entry, const ElfFile& elf, const Bytes& image) {
  Kernel kernel{};
  kernel.name = entry.at(".name").get<std::string>();
  if (number(entry, ".wavefront_size") != 64) {
    throw UserError("{}: kernel {} has no waves of 64 lanes: compile it for gfx942 or gfx950", image.name(),
                    kernel.name);
  }
  read_descriptor(image, symbol(elf, entry.at(".symbol").get<std::string>(), image.name()).address, kernel);
  kernel.code_bytes = symbol(elf, kernel.name, image.name()).size;
  kernel.argument_bytes = number(entry, ".kernarg_segment_size");
  kernel.sgprs = number(entry, ".sgpr_count");
  kernel.agprs = number(entry, ".agpr_count");
  kernel.vgprs = number(entry, ".vgpr_count");
  kernel.spilled_sgprs = number(entry, ".sgpr_spill_count");
  kernel.spilled_vgprs = number(entry, ".vgpr_spill_count");
  kernel.largest_workgroup = number(entry, ".max_flat_workgroup_size");
  const nlohmann::json arguments = entry.value(".args", nlohmann::json::array());
  for (const nlohmann::json& argument : arguments) {
    kernel.arguments.push_back({text(argument, ".name"), argument.at(".value_kind").get<std::string>(),
                                argument.at(".offset").get<std::uint32_t>(),
                                argument.at(".size").get<std::uint32_t>()});
    const Argument& last = kernel.arguments.back();
    if (std::uint64_t{last.offset} + last.size > kernel.argument_bytes) {
      throw UserError("{}: damaged: an argument of kernel {} lies outside of its segment: compile it again",
                      image.name(), kernel.name);
    }
  }
  return kernel;
}

void read_kernels(const ElfFile& elf, CodeObject& object) {
  const auto note = std::find_if(elf.notes.begin(), elf.notes.end(), [](const Note& candidate) {
    return candidate.owner == "AMDGPU" && candidate.type == kMetadataNote;
  });
  if (note == elf.notes.end()) throw UserError("{}: has no metadata: compile it again", object.name);
  const Bytes image(object.image, object.name);
  try {
    const nlohmann::json metadata = read_msgpack(note->description);
    for (const nlohmann::json& entry : metadata.at("amdhsa.kernels")) {
      Kernel kernel = read_kernel(entry, elf, image);
      if (kernel.entry < object.code_begin || kernel.entry >= object.code_end || kernel.entry % 4 != 0) {
        throw UserError("{}: damaged: kernel {} begins outside of the code: compile it again", object.name,
                        kernel.name);
      }
      std::string kernel_name = kernel.name;
      object.kernels.emplace(std::move(kernel_name), std::move(kernel));
    }
  } catch (const nlohmann::json::exception& error) {
    throw UserError("{}: damaged metadata ({}): compile it again", object.name, error.what());
  }
}

}  // namespace

std::string_view processor(Generation generation) {
  return generation == Generation::cdna3 ? "gfx942" : "gfx950";
}

const Kernel& CodeObject::kernel(std::string_view kernel_name) const {
  const auto found = kernels.find(kernel_name);
  if (found != kernels.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& [known, kernel] : kernels) names.emplace_back(known);
  throw UserError("{}: has no kernel '{}': choose from {}", name, kernel_name, fmt::join(names, ", "));
}

CodeObject read_code_object(std::span<const std::byte> file, const std::string& name) {
  const ElfFile elf = read_elf(file, name);
  CodeObject object{};
  object.name = name;
  object.generation = generation_of(elf, name);
  load_segments(elf, object);
  read_kernels(elf, object);
  object.lines = SourceLines(file);
  return object;
}

}  // namespace octet::sim
