// A code object decoded once: every instruction with its function, operands and branch target, by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/decode/instruction.h"
#include "sim/elf/code_object.h"
#include "sim/machine/wave.h"
#include "sim/memory/memory.h"
#include "sim/semantics/table.h"

namespace octet::sim {

/// Joins a parsed instruction with its function. What DPP and SDWA stage is given an inner instruction in `inners`,
/// whose elements must not move. An instruction that cannot be executed gets a function that throws.
[[nodiscard]] Instruction bind(Parsed parsed, Generation generation, std::deque<Instruction>& inners);

/// Holds the loaded image in a memory, which must outlive it.
class Program {
 public:
  /// UserError from reading the code object.
  Program(const CodeObject& object, Memory& memory);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  [[nodiscard]] const CodeObject& object() const { return object_; }
  [[nodiscard]] const std::vector<Instruction>& instructions() const { return instructions_; }
  [[nodiscard]] const CodeMap& code() const { return code_; }
  [[nodiscard]] const std::string& text(std::uint32_t number) const { return texts_[number]; }
  /// As it stands in the code object's file and in a disassembly.
  [[nodiscard]] std::uint64_t address(std::uint32_t number) const;
  /// "kernels.hip:42: 0x3180: global_load_dword ...": its source line where that is known, its address, its text.
  [[nodiscard]] std::string place(std::uint32_t number) const;
  [[nodiscard]] Family family(std::uint32_t number) const { return families_[number]; }
  /// False where executing the instruction is an error.
  [[nodiscard]] bool is_known(std::uint32_t number) const { return known_[number]; }
  /// The kernel's first instruction.
  [[nodiscard]] std::uint32_t entry(const Kernel& kernel) const;
  /// The instruction behind the kernel's last.
  [[nodiscard]] std::uint32_t end(const Kernel& kernel) const;
  /// Where s_branch and s_cbranch_... go; nothing for any other instruction, or where no instruction begins there.
  [[nodiscard]] std::optional<std::uint32_t> branch_target(std::uint32_t number) const;
  /// Whether what the kernel leaves in memory may depend on the order of workgroups: it has atomic instructions that
  /// return the old value or add floats.
  [[nodiscard]] bool order_matters(const Kernel& kernel) const;

 private:
  void decode();
  void obey_register_indexing();
  void resolve_branches();

  CodeObject object_;
  Memory& memory_;
  std::uint64_t image_address_;
  std::vector<Instruction> instructions_;
  std::deque<Instruction> inners_;
  std::vector<std::string> texts_;
  std::vector<Family> families_;
  std::vector<bool> known_;
  std::vector<bool> ordered_;
  CodeMap code_;
};

}  // namespace octet::sim
