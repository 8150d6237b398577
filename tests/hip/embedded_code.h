// The machine code for AMD's GPUs that octet carries, decoded: each of its code objects, from the file that is
// embedded.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "gpu/hip/code_objects.h"
#include "io/files.h"
#include "sim/elf/code_object.h"
#include "sim/launch/program.h"
#include "sim/memory/memory.h"

namespace octet::test {

/// Where the build puts code objects of src/kernels before it embeds them.
[[nodiscard]] inline std::filesystem::path code_object_path(std::string_view source, std::string_view arch) {
  return std::filesystem::path(OCTET_CODE_OBJECTS) / fmt::format("{}.{}.co", source, arch);
}

/// A code object in a simulated GPU's memory.
class EmbeddedCode {
 public:
  explicit EmbeddedCode(const gpu::CodeObject& object) : object_(object), program_(read(object), memory_) {}

  [[nodiscard]] std::string_view source() const { return object_.name; }
  [[nodiscard]] std::string_view arch() const { return object_.arch; }

  [[nodiscard]] const sim::Program& program() const { return program_; }
  [[nodiscard]] const auto& kernels() const { return program_.object().kernels; }

 private:
  [[nodiscard]] static sim::CodeObject read(const gpu::CodeObject& object) {
    const std::string file = read_file(code_object_path(object.name, object.arch));
    return sim::read_code_object(std::as_bytes(std::span(file)), fmt::format("{} for {}", object.name, object.arch));
  }

  gpu::CodeObject object_;
  sim::Memory memory_;
  sim::Program program_;
};

}  // namespace octet::test
