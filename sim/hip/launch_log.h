// The file that CDNA_SIM_COUNTS names: a line of JSON for each launch.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/counters/traffic.h"
#include "sim/hip/module.h"
#include "sim/launch/launch.h"

namespace octet::sim::hip {

/// What was launched where, and what it executed; with what it moved, [instructions], where that was counted. HipError
/// when the file cannot be written.
void append_launch(const std::filesystem::path& path, const LoadedCode& code, const LaunchConfig& config,
                   const std::string& kernel, const LaunchResult& result,
                   const std::optional<std::vector<Traffic>>& traffic);

}  // namespace octet::sim::hip
