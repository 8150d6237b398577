// octet report: compares runs on the terminal and writes the HTML report on them.
#include "io/report.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/error.h"
#include "io/files.h"
#include "io/run_files.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  std::vector<std::string> directories;
  std::string out;
  bool json = false;
  bool check = false;
};

/// The deepest directory that holds all of `directories`; one alone is its own.
fs::path common_directory(const std::vector<std::string>& directories) {
  const auto resolved = [](const std::string& directory) { return fs::canonical(directory); };
  fs::path common = resolved(directories.front());
  for (const std::string& directory : directories) {
    const fs::path other = resolved(directory);
    const auto end = std::mismatch(common.begin(), common.end(), other.begin(), other.end()).first;
    fs::path shared;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = shared;
  }
  return common;
}

void report(const ReportOptions& options, Session& session) {
  std::vector<io::RunRecord> runs;
  for (const std::string& directory : options.directories) runs.push_back(io::read_run(directory));
  const fs::path file =
      options.out.empty() ? common_directory(options.directories) / "report.html" : fs::path(options.out);
  write_file_atomically(file, io::render_report(runs));
  fmt::print("{}", options.json ? io::summary_json(runs) : io::summary_table(runs));
  fmt::print(stderr, "report written to {}\n", file.string());  // apart from the JSON that a program may be reading
  if (!options.check) return;
  const std::vector<std::string> problems = io::verdicts(runs);
  for (const std::string& problem : problems) fmt::print(stderr, "problem: {}\n", problem);
  if (!problems.empty()) session.exit_code = kExitFailure;
}

}  // namespace

void add_report(CLI::App& app, Session& session) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Compare runs and write the report on them as one HTML file");
  command->add_option("runs", options->directories, "Directories in which octet train has written")
      ->required()
      ->type_name("RUN_DIR");
  command
      ->add_option("--out", options->out,
                   "Where to write the report; by default report.html in the directory common to the runs")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->add_flag("--check", options->check, "Exit with 1 where a run fails its checks, and say why");
  command->callback([options, &session] { report(*options, session); });
}

}  // namespace octet::cli
