// What cdna-sim counts of a launch, as JSON and as text.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/counters/access_counts.h"
#include "sim/counters/instruction_counts.h"
#include "sim/counters/occupancy.h"
#include "sim/launch/launch.h"
#include "sim/launch/program.h"

namespace octet::sim {

struct LaunchCounts {
  const Program& program;
  const Kernel& kernel;
  LaunchConfig config;
  LaunchResult result;
  std::vector<AccessCounts> accesses;     ///< [instructions]
  std::optional<std::uint64_t> elements;  ///< of which the report shall have shares
};

/// The launch's extents: workgroups, lanes, waves.
[[nodiscard]] nlohmann::ordered_json launch_json(const LaunchConfig& config);
/// "4 workgroups of 256 lanes, 16 waves"
[[nodiscard]] std::string launch_text(const LaunchConfig& config);

[[nodiscard]] nlohmann::ordered_json counts_json(const LaunchCounts& counts);
[[nodiscard]] std::string counts_text(const LaunchCounts& counts);

}  // namespace octet::sim
