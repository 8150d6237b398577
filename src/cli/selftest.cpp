// octet selftest: every op of a device against the double-precision oracle, on this very machine, and its rates.
#include "ops/selftest/selftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/selftest_rates.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

/// Of the JSON. Within a version fields may be added; one that changes its meaning or goes makes another.
constexpr int kVersionOfJson = 1;

struct SelftestOptions {
  std::string device = "cpu";
  std::string rates;  ///< "full", "quick" or "none"; empty: full on a GPU, quick on a CPU
  bool thorough = false;
  bool json = false;
};

struct Findings {
  std::vector<ops::SelftestResult> ops;
  std::vector<MeasuredRate> rates;

  [[nodiscard]] bool ops_agree() const {
    return std::all_of(ops.begin(), ops.end(), [](const auto& op) { return op.passed() && op.supported; });
  }
  [[nodiscard]] bool rates_are_possible() const {
    return std::all_of(rates.begin(), rates.end(), [](const auto& rate) { return rate.doubt.empty(); });
  }
  [[nodiscard]] bool good() const { return ops_agree() && rates_are_possible(); }
};

const char* verdict(const ops::SelftestResult& result) {
  if (!result.supported) return "missing";
  return result.passed() ? "ok" : "FAILED";
}

const char* conclusion(const Findings& findings) {
  if (!findings.ops_agree()) return "FAILED: this device is not to be trusted with training";
  if (!findings.rates_are_possible()) return "FAILED: all ops agree with the oracle, but a rate cannot be true";
  return "all ops agree with the oracle";
}

nlohmann::ordered_json to_json(const ops::Backend& backend, const Findings& findings) {
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (const auto& r : findings.ops) {
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
  return {{"version", kVersionOfJson},
          {"device", backend.device().description()},
          {"backend", backend.name()},
          {"arch", backend.device().arch()},
          {"fp8_format", fp8::name(fp8::forward_format(backend.device().families().front()))},
          {"good", findings.good()},
          {"ops", ops},
          {"rates", rates_json(findings.rates)}};
}

std::string to_text(const ops::Backend& backend, const Findings& findings) {
  std::string text =
      fmt::format("device {}: {}\n{:<20} {:>6} {:>8} {:>24}  {}\n", backend.name(), backend.device().description(),
                  "op", "cases", "refused", "worst error / allowed", "verdict");
  for (const auto& r : findings.ops) {
    text += fmt::format("{:<20} {:>6} {:>8} {:>24.3f}  {}{}\n", r.op, r.cases, r.refused, r.worst_error, verdict(r),
                        r.refused == 0 ? "" : "; refused: " + r.refusal);
    if (!r.message.empty()) text += fmt::format("  {}\n", r.message);
  }
  if (!findings.rates.empty()) text += rates_text(findings.rates) + "\n";
  return text + conclusion(findings) + "\n";
}

/// What is being done, for those who wait; standard output is for the findings.
void report_progress(std::string_view what) {
  fmt::print(stderr, "selftest: {}\n", what);
  std::fflush(stderr);
}

std::string sizes_of_rates(const SelftestOptions& options, const ops::Device& device) {
  if (!options.rates.empty()) return options.rates;
  return device.host_memory() ? "quick" : "full";
}

void run(const SelftestOptions& options, Session& session) {
  const auto backend = open_device(options.device);
  Findings findings;
  report_progress("every op against the oracle");
  findings.ops =
      ops::run_selftest(*backend, options.thorough ? ops::SelftestLevel::thorough : ops::SelftestLevel::quick);
  const std::string sizes = sizes_of_rates(options, backend->device());
  if (sizes != "none") {
    findings.rates = measure_rates(*backend, sizes == "full" ? RateSizes::full : RateSizes::quick, report_progress);
  }
  session.exit_code = findings.good() ? 0 : kExitFailure;
  if (options.json) {
    fmt::print("{}\n", to_json(*backend, findings).dump(2));
  } else {
    fmt::print("{}", to_text(*backend, findings));
  }
}

}  // namespace

void add_selftest(CLI::App& app, Session& session) {
  auto options = std::make_shared<SelftestOptions>();
  CLI::App* command =
      app.add_subcommand("selftest", "Check every op of the device against the oracle, then measure its rates");
  command->add_option("--device", options->device,
                      "The device to check: cpu, cuda, cuda:N, hip or hip:N (default cpu)");
  command
      ->add_option("--rates", options->rates,
                   "Sizes at which rates are measured: full, quick or none (default full on a GPU, quick on a CPU)")
      ->check(CLI::IsMember({"full", "quick", "none"}));
  command->add_flag("--thorough", options->thorough, "More and larger shapes");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &session] { run(*options, session); });
}

}  // namespace octet::cli
