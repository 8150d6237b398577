// Machines and features in code objects: LLVM's "User Guide for AMDGPU Backend", "Header" (EF_AMDGPU_MACH,
// EF_AMDGPU_FEATURE_XNACK_V4, EF_AMDGPU_FEATURE_SRAMECC_V4).
#include "sim/hip/processors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace octet::sim::hip {
namespace {

constexpr int kMiB = 1 << 20;
constexpr std::array kProcessors = std::to_array<Processor>({
    {"gfx942", "gfx942:sramecc+:xnack-", "AMD Instinct MI300X", Generation::cdna3, 0x4C, 9, 4, 2, 304, 64, 64 * 1024,
     4 * kMiB, 2'100'000, 1'300'000, 8192},
    {"gfx950", "gfx950:sramecc+:xnack-", "AMD Instinct MI355X", Generation::cdna4, 0x4F, 9, 5, 0, 256, 64, 160 * 1024,
     4 * kMiB, 2'400'000, 2'000'000, 8192},
    {"gfx90a", "gfx90a:sramecc+:xnack-", "AMD Instinct MI250X", std::nullopt, 0x3F, 9, 0, 10, 110, 64, 64 * 1024,
     8 * kMiB, 1'700'000, 1'600'000, 4096},
    {"gfx940", "gfx940:sramecc+:xnack-", "AMD Instinct MI300A", std::nullopt, 0x40, 9, 4, 0, 228, 64, 64 * 1024,
     4 * kMiB, 2'100'000, 1'300'000, 8192},
    {"gfx1100", "gfx1100", "AMD Radeon RX 7900 XTX", std::nullopt, 0x41, 11, 0, 0, 48, 32, 64 * 1024, 6 * kMiB,
     2'500'000, 1'249'000, 384},
});

std::uint32_t word(std::span<const std::byte> file, std::size_t offset) {
  std::uint32_t value = 0;
  std::memcpy(&value, file.data() + offset, sizeof(value));
  return value;
}

}  // namespace

const Processor* find_processor(std::string_view name) {
  const auto* const found = std::find_if(kProcessors.begin(), kProcessors.end(),
                                         [&](const Processor& processor) { return processor.name == name; });
  return found == kProcessors.end() ? nullptr : found;
}

std::string processor_names() {
  std::vector<std::string_view> names;
  for (const Processor& processor : kProcessors) names.push_back(processor.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool fits(const Processor& processor, std::span<const std::byte> file) {
  constexpr std::size_t kHeaderBytes = 64;
  constexpr std::uint32_t kMagic = 0x464C'457F;  // "\x7F" "ELF"
  constexpr std::uint32_t kAmdGpu = 224;         // EM_AMDGPU
  constexpr std::uint32_t kXnackOn = 0x300;
  constexpr std::uint32_t kSramEccOff = 0x800;
  if (file.size() < kHeaderBytes || word(file, 0) != kMagic || word(file, 16) >> 16 != kAmdGpu) return false;
  const std::uint32_t flags = word(file, 48);
  return (flags & 0xFFU) == processor.elf_machine && (flags & 0x300U) != kXnackOn && (flags & 0xC00U) != kSramEccOff;
}

}  // namespace octet::sim::hip
