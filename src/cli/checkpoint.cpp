// octet checkpoint: what checkpoints a run has, and whether they are what they say.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/plan_text.h"
#include "io/run_files.h"
#include "io/text.h"
#include "train/checkpoint_verify.h"

namespace octet::cli {
namespace {

using nlohmann::ordered_json;

struct ListOptions {
  std::string directory;
  bool json = false;
};

struct VerifyOptions {
  std::vector<std::string> directories;
  bool json = false;
};

std::string time_text(std::time_t time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

std::string row_text(const CheckpointInfo& info) {
  const char* state = !info.whole ? "partial" : info.problem.empty() ? "whole" : "damaged";
  std::string row = fmt::format("{:>10}  {:<20}  {:>10}  {:<7}", info.step, time_text(info.written),
                                bytes_text(static_cast<double>(info.bytes)), state);
  if (!info.problem.empty()) return row + "  " + info.problem + "\n";
  if (!info.whole) return row + "\n";
  return row + fmt::format("  {:>9}  {:<9}  {}\n", count_text(static_cast<double>(info.parameters)), info.dtype,
                           info.val_loss ? fmt::format("{:.4f}", *info.val_loss) : "-");
}

ordered_json info_json(const CheckpointInfo& info) {
  ordered_json json = {{"path", info.path.string()},
                       {"step", info.step},
                       {"whole", info.whole},
                       {"written", time_text(info.written)},
                       {"bytes", info.bytes}};
  if (!info.problem.empty()) json["problem"] = info.problem;
  if (!info.whole || !info.problem.empty()) return json;
  json["parameters"] = info.parameters;
  json["dtype"] = info.dtype;
  if (info.val_loss) json["val_loss"] = io::number_or_null(*info.val_loss);
  return json;
}

void list(const ListOptions& options) {
  const std::vector<CheckpointInfo> infos = list_checkpoint_infos(options.directory);
  if (options.json) {
    ordered_json json = ordered_json::array();
    for (const CheckpointInfo& info : infos) json.push_back(info_json(info));
    fmt::print("{}\n", json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
    return;
  }
  fmt::print("{:>10}  {:<20}  {:>10}  {:<7}  {:>9}  {:<9}  {}\n", "step", "written", "size", "", "elements", "dtype",
             "validation loss");
  for (const CheckpointInfo& info : infos) fmt::print("{}", row_text(info));
}

/// How far the verification of one checkpoint is, on a terminal.
class Progress {
 public:
  explicit Progress(std::string name) : name_(std::move(name)) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (terminal_) fmt::print(stderr, "\r\x1b[K");
  }

  void operator()(std::uint64_t done, std::uint64_t total) const {
    if (!terminal_) return;
    fmt::print(stderr, "\r{}: {:.0f} % of {}\x1b[K", name_,
               100 * static_cast<double>(done) / static_cast<double>(total), bytes_text(static_cast<double>(total)));
  }

 private:
  std::string name_;
  bool terminal_ = isatty(STDERR_FILENO) != 0;
};

VerifiedCheckpoint verify_one(const std::filesystem::path& checkpoint) {
  const Progress progress(printable(checkpoint.string()));
  return verify_checkpoint(checkpoint, std::cref(progress));
}

std::string verified_text(const VerifiedCheckpoint& verified) {
  const std::string path = printable(verified.path.string());
  std::string text =
      fmt::format("{}: {} tensors, {}: {}\n", path, verified.tensors, bytes_text(static_cast<double>(verified.bytes)),
                  verified.faults.empty() ? "good" : fmt::format("{} faults", verified.faults.size()));
  for (const std::string& fault : verified.faults) text += fmt::format("  {}\n", fault);
  return text;
}

void verify(const VerifyOptions& options, Session& session) {
  std::vector<std::filesystem::path> checkpoints;
  for (const std::string& directory : options.directories)
    std::ranges::copy(find_checkpoints(directory), std::back_inserter(checkpoints));
  ordered_json json = ordered_json::array();
  for (const std::filesystem::path& checkpoint : checkpoints) {
    const VerifiedCheckpoint verified = verify_one(checkpoint);
    if (!verified.faults.empty()) session.exit_code = kExitFailure;
    json.push_back({{"path", verified.path.string()},
                    {"good", verified.faults.empty()},
                    {"tensors", verified.tensors},
                    {"bytes", verified.bytes},
                    {"faults", verified.faults}});
    if (!options.json) fmt::print("{}", verified_text(verified));
  }
  if (options.json) fmt::print("{}\n", json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void add_ls(CLI::App& checkpoint) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* command = checkpoint.add_subcommand("ls", "List a run's checkpoints: step, date, size, validation loss");
  command->add_option("directory", options->directory, "Directory of a run, its checkpoints/, or one checkpoint")
      ->required()
      ->type_name("DIR");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { list(*options); });
}

void add_verify(CLI::App& checkpoint, Session& session) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      checkpoint.add_subcommand("verify", "Check every tensor's checksum and shape; exits with 1 where one is wrong");
  command->add_option("directories", options->directories, "Directories of runs, of checkpoints, or single checkpoints")
      ->required()
      ->type_name("DIR");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &session] { verify(*options, session); });
}

}  // namespace

void add_checkpoint(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("checkpoint", "List, verify and export checkpoints");
  command->require_subcommand(1);
  add_ls(*command);
  add_verify(*command, session);
  add_export(*command);
}

}  // namespace octet::cli
