// The tables of all families: from a mnemonic to the function that executes it. The chapters of AMD's ISA documents
// that the files of families name say where instructions are described; docs/cdna-simulator.md says what the code
// rests on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/decode/instruction.h"
#include "sim/decode/parse.h"
#include "sim/elf/code_object.h"

namespace octet::sim {

/// What an instruction counts as.
enum class Family : std::uint8_t { control, scalar, scalar_memory, vector, matrix, lds, global, atomic, scratch };

struct Row {
  std::string_view mnemonic;
  Execute execute;
  std::uint32_t accepts = modifier::kNone;  ///< what of modifier:: the function obeys; others are refused
  std::optional<Generation> only{};         ///< nothing: the same on both
  bool order_matters = false;               ///< to what it leaves in memory, when workgroups run it at the same time
};

/// Rows whose operands are not read (s_waitcnt, s_nop): whatever stands there.
inline constexpr std::uint32_t kAnyOperands = std::uint32_t{1} << 31;

using Table = std::span<const Row>;

[[nodiscard]] Table control_table();
[[nodiscard]] Table scalar_table();
[[nodiscard]] Table scalar_bits_table();
[[nodiscard]] Table register_indexing_table();
[[nodiscard]] Table scalar_memory_table();
[[nodiscard]] Table special_register_table();
[[nodiscard]] Table vector_integer_table();
[[nodiscard]] Table vector_short_table();
[[nodiscard]] Table vector_bytes_table();
[[nodiscard]] Table vector_wide_table();
[[nodiscard]] Table vector_float_table();
[[nodiscard]] Table vector_double_table();
[[nodiscard]] Table vector_half_table();
[[nodiscard]] Table vector_compare_table();
[[nodiscard]] Table vector_division_table();
[[nodiscard]] Table vector_conversion_table();
[[nodiscard]] Table vector_scaled_conversion_table();
[[nodiscard]] Table vector_packed_table();
[[nodiscard]] Table vector_packed_half_table();
[[nodiscard]] Table vector_packed_integer_table();
[[nodiscard]] Table vector_dot_table();
[[nodiscard]] Table cross_lane_table();
[[nodiscard]] Table matrix_dense_table();
[[nodiscard]] Table matrix_double_table();
[[nodiscard]] Table matrix_scaled_table();
[[nodiscard]] Table matrix_sparse_table();
[[nodiscard]] Table lds_table();
[[nodiscard]] Table lds_atomic_table();
[[nodiscard]] Table lds_transpose_table();
[[nodiscard]] Table lds_loads_table();
[[nodiscard]] Table global_table();
[[nodiscard]] Table atomic_table();
[[nodiscard]] Table scratch_table();

struct Found {
  const Row* row;
  Family family;
};

/// The row of that mnemonic; nothing when no table has it for this generation.
[[nodiscard]] std::optional<Found> find_row(std::string_view mnemonic, Generation generation);

/// Executes DPP and SDWA: stages the first operands, then runs `inner`, whose operands are the staging rows.
void execute_dpp(Wave& wave, const Instruction& instruction);
void execute_sdwa(Wave& wave, const Instruction& instruction);

}  // namespace octet::sim
