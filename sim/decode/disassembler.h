// LLVM's disassembler for one of the two processors, through its C interface.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "sim/elf/code_object.h"

namespace octet::sim {

/// The text is as LLVM prints it, with single blanks for tabs. An instruction that LLVM does not know has `bytes` 0.
struct Disassembled {
  std::string text;
  std::size_t bytes;
};

class Disassembler {
 public:
  /// Failure when the library has no disassembler for AMD GPUs.
  explicit Disassembler(Generation generation);

  /// The instruction at the front of `code`.
  [[nodiscard]] Disassembled operator()(std::span<const std::byte> code) const;

 private:
  std::unique_ptr<void, void (*)(void*)> context_;
};

}  // namespace octet::sim
