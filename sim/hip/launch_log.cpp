#include "sim/hip/launch_log.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/hip/errors.h"
#include "sim/tool/count_report.h"

namespace octet::sim::hip {

void append_launch(const std::filesystem::path& path, const LoadedCode& code, const LaunchConfig& config,
                   const std::string& kernel, const LaunchResult& result,
                   const std::optional<std::vector<AccessCounts>>& accesses) {
  const Program& program = code.program;
  nlohmann::ordered_json line = counts_json(
      {program, program.object().kernel(kernel), config, result, accesses.value_or(std::vector<AccessCounts>{}), {}});
  line["device"] = code.device.index();
  if (!accesses) {  // zeros would say that there were none
    for (const char* counted : {"global", "lds", "scratch", "by_instruction"}) line.erase(counted);
  }
  std::ofstream file(path, std::ios::app);
  file << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (!file.flush()) refuse(hipErrorUnknown, "{} cannot be written any more", path.string());
}

}  // namespace octet::sim::hip
