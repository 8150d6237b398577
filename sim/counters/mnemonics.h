// What the name of an instruction says of it, for counting: the memory it accesses, the products it stands for.
// LLVM's "Syntax of gfx940 Instructions".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace octet::sim {

/// The first word of an instruction's text, with its encoding: "v_add_u32_e32".
[[nodiscard]] std::string_view mnemonic(std::string_view text);

/// Where a memory instruction goes: `global` stands for global_, buffer_ and flat_ instructions, of which a flat one
/// may reach LDS or scratch as well.
enum class MemorySpace : std::uint8_t { global, lds, scratch };
enum class MemoryUse : std::uint8_t { load, store, atomic };

struct MemoryInstruction {
  MemorySpace space;
  MemoryUse use;
  std::uint32_t bytes;  ///< of a lane; of each of the two of ds_read2_...; 0 where the name does not say
};

/// Nothing for an instruction that is none, such as a permutation of lanes, which only passes through LDS's hardware.
[[nodiscard]] std::optional<MemoryInstruction> memory_instruction(std::string_view mnemonic);

/// Bytes that s_load_... and s_buffer_load_... read; 0 for any other.
[[nodiscard]] std::uint32_t scalar_load_bytes(std::string_view mnemonic);

/// Floating point or integer operations of a v_mfma_... or v_smfmac_... by a wave: a product and a sum for each element
/// of M x N x K in all its blocks, in a sparse one for each element of A that is stored. Nothing for any other.
[[nodiscard]] std::optional<std::uint64_t> matrix_operations(std::string_view mnemonic);

[[nodiscard]] bool is_barrier(std::string_view mnemonic);
[[nodiscard]] bool is_branch(std::string_view mnemonic);  ///< s_branch and s_cbranch_...; not calls
[[nodiscard]] bool is_wait(std::string_view mnemonic);    ///< s_waitcnt in all its forms
/// Writes back or invalidates a cache: what fences between workgroups emit.
[[nodiscard]] bool is_cache_maintenance(std::string_view mnemonic);

}  // namespace octet::sim
