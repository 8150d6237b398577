// Of LLVM's C interface a few functions are declared here, as its headers come only with a development package of 400
// MB.
#include "sim/decode/disassembler.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "core/error.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
void* LLVMCreateDisasmCPU(const char* triple, const char* processor, void* information, int tag_type,
                          void* operand_callback, void* symbol_callback);
std::size_t LLVMDisasmInstruction(void* context, std::uint8_t* bytes, std::uint64_t size, std::uint64_t address,
                                  char* text, std::size_t text_size);
void LLVMDisasmDispose(void* context);
}

namespace octet::sim {
namespace {

void* make_context(Generation generation) {
  static const bool initialized = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    return true;
  }();
  check(initialized, "LLVM's initializers return");
  const std::string cpu(processor(generation));
  void* context = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", cpu.c_str(), nullptr, 0, nullptr, nullptr);
  if (context == nullptr) throw Failure("LLVM's library has no disassembler for {}", cpu);
  return context;
}

}  // namespace

Disassembler::Disassembler(Generation generation) : context_(make_context(generation), LLVMDisasmDispose) {}

Disassembled Disassembler::operator()(std::span<const std::byte> code) const {
  constexpr std::size_t kLongest = 20;  // bytes; the C interface wants them writable
  std::array<std::uint8_t, kLongest> bytes{};
  const std::size_t size = std::min(code.size(), kLongest);
  std::transform(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(size), bytes.begin(),
                 [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  std::array<char, 256> buffer{};
  const std::size_t used = LLVMDisasmInstruction(context_.get(), bytes.data(), size, 0, buffer.data(), buffer.size());
  if (used == 0) return {"?", 0};
  std::string text(buffer.data());
  text.resize(std::min(text.size(), text.find("//")));
  std::replace(text.begin(), text.end(), '\t', ' ');
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  text.erase(0, begin);
  text.erase(text.find_last_not_of(' ') + 1);
  return {std::move(text), used};
}

}  // namespace octet::sim
