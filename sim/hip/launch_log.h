// The file that CDNA_SIM_COUNTS names: a line of JSON for each launch.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/counters/access_counts.h"
#include "sim/hip/module.h"
#include "sim/launch/launch.h"

namespace octet::sim::hip {

/// What `cdna-sim count` prints as JSON, and the device's number; of memory, [instructions], only where that was
/// counted. HipError when the file cannot be written.
void append_launch(const std::filesystem::path& path, const LoadedCode& code, const LaunchConfig& config,
                   const std::string& kernel, const LaunchResult& result,
                   const std::optional<std::vector<AccessCounts>>& accesses);

}  // namespace octet::sim::hip
