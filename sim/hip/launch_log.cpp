#include "sim/hip/launch_log.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/counters/instruction_counts.h"
#include "sim/hip/errors.h"
#include "sim/tool/report.h"

namespace octet::sim::hip {
namespace {

nlohmann::ordered_json extent_json(const Extent& extent) {
  return nlohmann::ordered_json::array({extent.x, extent.y, extent.z});
}

}  // namespace

void append_launch(const std::filesystem::path& path, const LoadedCode& code, const LaunchConfig& config,
                   const std::string& kernel, const LaunchResult& result,
                   const std::optional<std::vector<Traffic>>& traffic) {
  nlohmann::ordered_json line{{"device", code.device.index()},
                              {"processor", code.device.processor().name},
                              {"kernel", kernel},
                              {"grid", extent_json(config.workgroups)},
                              {"block", extent_json(config.lanes)},
                              {"dynamic_lds_bytes", config.dynamic_lds_bytes},
                              {"counts", counts_json(count_instructions(code.program, result))}};
  if (traffic) line["traffic"] = traffic_json(code.program, *traffic);
  std::ofstream file(path, std::ios::app);
  file << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (!file.flush()) refuse(hipErrorUnknown, "{} cannot be written any more", path.string());
}

}  // namespace octet::sim::hip
