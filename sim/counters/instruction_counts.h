// How often a launch executed instructions: by family, by name, and those by which kernels are judged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sim/launch/launch.h"
#include "sim/launch/program.h"
#include "sim/semantics/table.h"

namespace octet::sim {

/// The name that reports use: "scalar memory".
[[nodiscard]] std::string_view name(Family family);

struct MatrixCount {
  std::uint64_t instructions = 0;
  std::uint64_t operations = 0;  ///< products and sums, as matrix_operations() has them
};

/// All of waves: an instruction counts once for the up to 64 lanes that execute it.
struct InstructionCounts {
  std::uint64_t total = 0;
  std::map<Family, std::uint64_t> of_family;         ///< those that were executed
  std::map<std::string, std::uint64_t> of_mnemonic;  ///< as disassembled, with encoding
  std::map<std::string, MatrixCount> matrix;         ///< v_mfma_... and v_smfmac_..., by mnemonic
  std::uint64_t global_atomics = 0, lds_atomics = 0;
  std::uint64_t barriers = 0;
  std::uint64_t waits = 0;
  std::uint64_t cache_maintenance = 0;  ///< is_cache_maintenance()
  std::uint64_t branches = 0;           ///< is_branch()
  std::uint64_t branches_taken = 0;     ///< of these and of calls and returns
  std::uint64_t scalar_load_bytes = 0;  ///< read by s_load_..., each execution anew

  [[nodiscard]] MatrixCount all_matrix() const;
};

[[nodiscard]] InstructionCounts count_instructions(const Program& program, const LaunchResult& result);

}  // namespace octet::sim
