#include "sim/hip/module.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "sim/elf/elf_file.h"
#include "sim/hip/errors.h"
#include "sim/hip/offload_bundle.h"

namespace octet::sim::hip {
namespace {

constexpr std::string_view kElfMagic = "\177ELF";

template <typename T>
T field(const std::byte* bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

/// Linkers put the section headers last.
std::size_t elf_size(const std::byte* bytes) {
  return field<std::uint64_t>(bytes, 40) +
         std::size_t{field<std::uint16_t>(bytes, 58)} * field<std::uint16_t>(bytes, 60);
}

/// Looks at no byte behind the first that differs: there may be none.
bool begins_with(const std::byte* bytes, std::string_view magic) {
  return std::strncmp(reinterpret_cast<const char*>(bytes), magic.data(), magic.size()) == 0;
}

/// The code object for the processor: the image itself, or the part of a bundle that fits.
std::optional<std::span<const std::byte>> code_for(const Processor& processor, std::span<const std::byte> image) {
  if (!is_bundle(image)) return fits(processor, image) ? std::optional(image) : std::nullopt;
  for (const BundleEntry& entry : bundle_entries(image)) {
    if (entry.processor == processor.name && fits(processor, entry.bytes)) return entry.bytes;
  }
  return std::nullopt;
}

}  // namespace

LoadedCode::LoadedCode(Device& its_device, std::span<const std::byte> file, const std::string& name)
    : device(its_device), program(read_code_object(file, name), its_device.memory()) {
  constexpr std::uint8_t kObject = 1;  // STT_OBJECT: variables, and the descriptors of kernels
  for (const Symbol& symbol : read_elf(file, name).symbols) {
    const bool inside = symbol.address <= program.object().image.size() &&
                        symbol.size <= program.object().image.size() - symbol.address;
    if (symbol.type != kObject || symbol.name.ends_with(".kd") || !inside) continue;
    variables.emplace(symbol.name, Variable{symbol.address, symbol.size});
  }
}

std::uint64_t LoadedCode::address_of(const Variable& variable) const {
  return program.code().address - program.object().code_begin + variable.offset;
}

std::shared_ptr<LoadedCode> load_code(Device& device, std::span<const std::byte> image, const std::string& name) {
  const Processor& processor = device.processor();
  const bool is_elf = image.size() >= kElfMagic.size() && begins_with(image.data(), kElfMagic);
  if (!is_elf && !is_bundle(image)) {
    refuse(hipErrorInvalidImage, "{}: is neither a code object nor an uncompressed bundle of them", name);
  }
  try {
    const auto code = code_for(processor, image);
    if (!code) refuse(hipErrorNoBinaryForGpu, "{}: has no code for {}", name, processor.target);
    if (!processor.generation) {
      refuse(hipErrorNoBinaryForGpu, "{}: code for {} cannot be executed, only that for gfx942 and gfx950", name,
             processor.name);
    }
    return std::make_shared<LoadedCode>(device, *code, name);
  } catch (const UserError& error) {
    refuse(hipErrorInvalidImage, "{}", error.what());
  }
}

std::span<const std::byte> image_at(const void* pointer) {
  const auto* const bytes = static_cast<const std::byte*>(pointer);
  require(bytes != nullptr, hipErrorInvalidValue);
  if (begins_with(bytes, kElfMagic)) return {bytes, elf_size(bytes)};
  try {
    if (begins_with(bytes, kBundleMagic)) return {bytes, bundle_size(bytes)};
  } catch (const UserError& error) {
    refuse(hipErrorInvalidImage, "{}", error.what());
  }
  refuse(hipErrorInvalidImage, "the image in memory is neither a code object nor an uncompressed bundle of them");
}

}  // namespace octet::sim::hip
