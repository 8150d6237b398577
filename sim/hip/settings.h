// What environment variables say of the simulated machine; docs/cdna-simulator.md lists them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "sim/hip/processors.h"

namespace octet::sim::hip {

struct Settings {
  std::vector<const Processor*> processors;     ///< of each device: CDNA_SIM_ARCH
  std::uint64_t memory_bytes = 0;               ///< of each device: CDNA_SIM_MEMORY
  int threads = 1;                              ///< of the host that simulate: CDNA_SIM_THREADS
  bool check = false;                           ///< detectors watch each launch: CDNA_SIM_CHECK
  std::optional<std::filesystem::path> counts;  ///< gets a line for each launch: CDNA_SIM_COUNTS
  bool traffic = false;                         ///< that has global memory's traffic too: CDNA_SIM_TRAFFIC
  std::optional<std::filesystem::path> errors;  ///< gets what is reported on stderr: CDNA_SIM_ERRORS
};

/// Addresses of devices lie apart from each other and from the host's, which bounds their number.
inline constexpr std::size_t kMostDevices = 8;

/// UserError when a variable that begins with CDNA_SIM_ has a value that it cannot have, or is none of those above.
[[nodiscard]] Settings read_settings();

}  // namespace octet::sim::hip
