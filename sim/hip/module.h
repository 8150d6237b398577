// Code objects that a client loads: from a file, from memory, or out of clang's bundle for several processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/hip/abi.h"
#include "sim/hip/device.h"
#include "sim/launch/program.h"

namespace octet::sim::hip {

/// A variable of the device, at its place in the loaded image.
struct Variable {
  std::uint64_t offset;
  std::uint64_t size;
};

/// What a module is while it is loaded, on the one device that was current.
struct LoadedCode {
  LoadedCode(Device& its_device, std::span<const std::byte> file, const std::string& name);

  /// Where the variable lies. HipError when there is none of that name.
  [[nodiscard]] std::uint64_t address_of(const Variable& variable) const;

  Device& device;
  Program program;
  std::map<std::string, Variable, std::less<>> variables;
};

/// Loads what of the image is for the device. HipError when nothing is, or it is damaged, or cannot be executed; `name`
/// stands for it in messages.
[[nodiscard]] std::shared_ptr<LoadedCode> load_code(Device& device, std::span<const std::byte> image,
                                                    const std::string& name);

/// The bytes of the image that begins at a pointer: its headers are believed, as HIP passes no size. HipError when it
/// begins as none does.
[[nodiscard]] std::span<const std::byte> image_at(const void* pointer);

}  // namespace octet::sim::hip

struct ihipModule_t {
  std::shared_ptr<octet::sim::hip::LoadedCode> code;
  std::map<std::string, hipFunction_t> functions = {};  // those that were asked for, by name
};

struct ihipModuleSymbol_t {
  const ihipModule_t* module;
  std::weak_ptr<octet::sim::hip::LoadedCode> code;
  const octet::sim::Kernel* kernel;
};
