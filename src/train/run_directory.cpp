#include "train/run_directory.h"

#include <system_error>

#include "core/error.h"
#include "io/files.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunFile = "run.json";
constexpr const char* kMetricsFile = "metrics.jsonl";

}  // namespace

void drop_lines_after(const fs::path& path, std::int64_t last_step) {
  std::ifstream lines(path);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    if (parsed.is_discarded() || !parsed.is_object() || parsed.value("step", last_step + 1) > last_step) break;
    kept += line + "\n";
  }
  write_file_atomically(path, kept);
}

RunDirectory::RunDirectory(fs::path path, std::int64_t first_step) : path_(std::move(path)), first_step_(first_step) {
  metrics_.open(path_ / kMetricsFile, std::ios::app);
  if (!metrics_) throw UserError("cannot write {}: is the directory read-only?", (path_ / kMetricsFile).string());
}

RunDirectory RunDirectory::create(const fs::path& path) {
  if (holds_run(path)) {
    throw UserError("{} already holds a run: continue it with --resume, or choose another --run-dir", path.string());
  }
  std::error_code none;
  if (fs::exists(path, none) && !fs::is_empty(path, none)) {
    throw UserError("{} is not empty and holds no run: choose another --run-dir", path.string());
  }
  make_directory(path);
  return {path, 1};
}

RunDirectory RunDirectory::resume(const fs::path& path, std::int64_t last_step) {
  drop_lines_after(path / kMetricsFile, last_step);
  return {path, last_step + 1};
}

bool RunDirectory::holds_run(const fs::path& path) {
  std::error_code none;
  return fs::exists(path / kRunFile, none) || fs::exists(path / kMetricsFile, none);
}

void RunDirectory::write_run(const fs::path& directory, const nlohmann::ordered_json& run) {
  write_file_atomically(directory / kRunFile, run.dump(2) + "\n");
}

void RunDirectory::append(const io::StepMetrics& step) {
  metrics_ << io::metrics_line(step) << '\n' << std::flush;
  if (!metrics_)
    throw UserError("cannot append to {}: the disk may be full; the last checkpoint is good",
                    (path_ / kMetricsFile).string());
}

}  // namespace octet
