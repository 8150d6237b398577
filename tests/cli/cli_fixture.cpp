#include "cli/cli_fixture.h"

#include <algorithm>
#include <sstream>

#include "io/files.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

/// Words in an order that a linear congruence decides, some 20 kB.
std::string sample_text() {
  constexpr std::string_view words[] = {"river", "stone", "a",  "light", "under", "the", "old",  "bridge",
                                        "and",   "then",  "we", "walk",  "home",  "in",  "rain", "again"};
  std::string text;
  std::uint32_t state = 7;
  for (int i = 0; i < 4000; ++i) {
    state = state * 1664525U + 1013904223U;
    text += words[state >> 28U];
    text += i % 11 == 10 ? ".\n" : " ";
  }
  return text;
}

bool is_stream(const fs::path& file) {
  return file.filename() == ".stdout" || file.filename() == ".stderr";
}

}  // namespace

Words join(std::initializer_list<Words> parts) {
  Words all;
  for (const Words& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::map<std::string, std::string> snapshot(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (is_stream(entry.path())) continue;
    files[entry.path().string()] = entry.is_regular_file() ? read_file(entry.path()) : "";
  }
  return files;
}

void CliTest::SetUp() {
  write("text.txt", sample_text());
  succeed({"tokenize", "text.txt", "--train", "train.tok", "--validation", "validation.tok"});
}

Outcome CliTest::octet(const Words& arguments, const std::function<void()>& prepare) const {
  return OctetProcess(scratch_.path(), arguments, prepare).wait();
}

std::string CliTest::succeed(const Words& arguments) const {
  const Outcome outcome = octet(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.out;
}

nlohmann::json CliTest::json_of(const Words& arguments) const {
  const std::string text = succeed(arguments);
  auto parsed = nlohmann::json::parse(text, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << text;
  return parsed;
}

void CliTest::refuses(const Words& arguments, const Words& parts) const {
  const auto before = snapshot(scratch_.path());
  const Outcome outcome = octet(arguments);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("octet: ") && outcome.err.ends_with("\n")) << outcome.err;
  for (const std::string& part : parts) EXPECT_TRUE(contains(outcome.err, part));
  EXPECT_TRUE(snapshot(scratch_.path()) == before) << "files have changed; " << outcome.err;
}

Words CliTest::train(std::string_view run, const Words& more) {
  const Words common = {"train",     OCTET_CONFIGS "/llama3_debug.toml",
                        "--run-dir", std::string(run),
                        "--set",     "data.train=train.tok",
                        "--set",     "data.validation=validation.tok",
                        "--set",     "training.steps=6",
                        "--set",     "schedule.warmup_steps=0",
                        "--set",     "validation.interval=3",
                        "--set",     "validation.batches=2"};
  return join({common, more});
}

nlohmann::json CliTest::run_json(std::string_view run) const {
  return nlohmann::json::parse(read_file(path(run) / "run.json"));
}

std::size_t CliTest::metrics_lines(std::string_view run) const {
  const fs::path file = path(run) / "metrics.jsonl";
  if (!fs::exists(file)) return 0;
  const std::string text = read_file(file);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

Words CliTest::trajectory(std::string_view run) const {
  Words steps;
  std::istringstream lines(read_file(path(run) / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    auto record = nlohmann::ordered_json::parse(line);
    for (const char* measured : {"tokens_per_second", "ms", "memory_bytes", "checkpoint"}) record.erase(measured);
    steps.push_back(record.dump());
  }
  return steps;
}

std::vector<fs::path> CliTest::checkpoints(std::string_view run) const {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(path(run) / "checkpoints", none)) {
    if (entry.path().extension() != ".partial") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace octet::test
