// octet selftest: every op of a device against the double-precision oracle, on this very machine.
#include "ops/selftest/selftest.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

struct SelftestOptions {
  std::string device = "cpu";
  bool thorough = false;
  bool json = false;
};

const char* verdict(const ops::SelftestResult& result) {
  if (!result.supported) return "missing";
  return result.passed() ? "ok" : "FAILED";
}

nlohmann::ordered_json to_json(const std::string& device, const std::vector<ops::SelftestResult>& results) {
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (const auto& r : results) {
    ops.push_back({{"op", r.op},
                   {"verdict", verdict(r)},
                   {"cases", r.cases},
                   {"failures", r.failures},
                   {"refused", r.refused},
                   {"refusal", r.refusal},
                   {"worst_error_of_allowed", r.worst_error},
                   {"digest", fmt::format("{:016x}", r.digest)},
                   {"message", r.message}});
  }
  return {{"device", device}, {"ops", ops}};
}

void run(const SelftestOptions& options, Session& session) {
  const auto backend = open_device(options.device);
  const auto results =
      ops::run_selftest(*backend, options.thorough ? ops::SelftestLevel::thorough : ops::SelftestLevel::quick);
  bool good = true;
  for (const auto& result : results) good = good && result.passed() && result.supported;
  session.exit_code = good ? 0 : kExitFailure;
  if (options.json) {
    fmt::print("{}\n", to_json(backend->device().description(), results).dump(2));
    return;
  }
  fmt::print("device {}: {}\n{:<20} {:>6} {:>8} {:>24}  {}\n", backend->name(), backend->device().description(), "op",
             "cases", "refused", "worst error / allowed", "verdict");
  for (const auto& r : results) {
    fmt::print("{:<20} {:>6} {:>8} {:>24.3f}  {}{}\n", r.op, r.cases, r.refused, r.worst_error, verdict(r),
               r.refused == 0 ? "" : "; refused: " + r.refusal);
    if (!r.message.empty()) fmt::print("  {}\n", r.message);
  }
  fmt::print("{}\n", good ? "all ops agree with the oracle" : "FAILED: this device is not to be trusted with training");
}

}  // namespace

void add_selftest(CLI::App& app, Session& session) {
  auto options = std::make_shared<SelftestOptions>();
  CLI::App* command =
      app.add_subcommand("selftest", "Check every op of the device against the double-precision oracle");
  command->add_option("--device", options->device,
                      "The device to check: cpu, cuda, cuda:N, hip or hip:N (default cpu)");
  command->add_flag("--thorough", options->thorough, "More and larger shapes");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &session] { run(*options, session); });
}

}  // namespace octet::cli
