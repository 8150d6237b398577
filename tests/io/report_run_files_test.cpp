// run.json and metrics.jsonl: what is read and written, and how each kind of damage is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/error.h"
#include "core/random.h"
#include "io/report_fixture.h"
#include "io/run_files.h"

namespace octet::io {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::metrics_jsonl;
using testing::run_json;
using Json = nlohmann::json;

/// The message with which the files are refused; empty where they are accepted.
std::string refusal(const std::string& run, const std::string& metrics) {
  try {
    static_cast<void>(parse_run("runs/a", run, metrics));
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

std::string refusal(const Json& run) {
  return refusal(run.dump(), "");
}

TEST(RunFiles, ReadsEveryField) {
  const RunRecord run = parse_run("runs/a", run_json("a", "rowwise").dump(), metrics_jsonl(10, 3));
  EXPECT_EQ(run.directory, "runs/a");
  EXPECT_EQ(run.name, "a");
  EXPECT_EQ(run.status, RunStatus::finished);
  EXPECT_THAT(run.command_line, ::testing::ElementsAre("octet", "train", "configs/x.toml"));
  EXPECT_EQ(run.machine, (Machine{"A processor", "avx512_amx", 2, 17179869184}));
  EXPECT_EQ(run.libraries, (std::vector<Library>{{"oneDNN", "2.6.3"}}));
  EXPECT_EQ(run.parameters, 3412224);
  EXPECT_EQ(run.flops_per_token, 2.25e7);
  EXPECT_EQ(run.precision.format, "e4m3fn");
  ASSERT_EQ(run.precision.layers.size(), 2U);
  EXPECT_EQ(run.precision.layers[0].n, 512);
  EXPECT_EQ(run.precision.layers[1].reason, "filtered");
  EXPECT_EQ(run.memory.measured_bytes, 3145728);
  EXPECT_EQ(run.result->ms_per_step, 110.25);
  EXPECT_EQ(run.result->val_loss, 3.0);
  EXPECT_EQ(run.sample->text, " upon a time");
  EXPECT_FALSE(run.demonstration);
  ASSERT_EQ(run.metrics.size(), 10U);
  EXPECT_EQ(run.metrics[1].loss, 3.5);
  EXPECT_EQ(run.metrics[1].val_loss, std::nullopt);
  EXPECT_EQ(run.metrics[4].val_loss, 3.5);
  EXPECT_EQ(run.half_written_lines, 0);
}

TEST(RunFiles, FlattensTheConfigurationWithOrigins) {
  const RunRecord run = parse_run("runs/a", run_json("a", "rowwise").dump(), "");
  ASSERT_EQ(run.config.size(), 3U);
  EXPECT_EQ(run.config[0].key, "precision.recipe");
  EXPECT_EQ(run.config[0].value, "rowwise");
  EXPECT_EQ(run.config[0].origin, "");
  EXPECT_EQ(run.config[2].key, "training.steps");
  EXPECT_EQ(run.config[2].value, "10");
  EXPECT_EQ(run.config[2].origin, "configs/x.toml:12");
}

TEST(RunFiles, KeepsTheOrderOfTheFile) {
  std::string text = run_json("a", "rowwise").dump();
  const std::string sorted = R"({"seed":7,"steps":10})";
  text.replace(text.find(sorted), sorted.size(), R"({"steps":10,"seed":7})");
  EXPECT_EQ(parse_run("runs/a", text, "").config[1].key, "training.steps");
}

/// Every field whose lack is an error, found by its absence: take each out in turn.
TEST(RunFiles, NamesEveryMissingField) {
  const Json whole = run_json("a", "rowwise");
  const Json optional = Json::parse(R"(["/precision/format", "/memory/measured_bytes", "/result/val_loss",
      "/demonstration", "/sample"])");
  const Json places = whole.flatten();
  int refused = 0;
  for (const auto& [place, value] : places.items()) {
    const Json::json_pointer pointer(place);
    const std::string& field = pointer.back();
    const bool free_form = place.starts_with("/config/") || place.starts_with("/origins/") ||
                           place.starts_with("/libraries/") || place.starts_with("/memory/categories/") ||
                           place.starts_with("/command_line/");
    if (free_form || std::find(optional.begin(), optional.end(), place) != optional.end()) continue;
    Json damaged = whole;
    damaged[pointer.parent_pointer()].erase(field);
    EXPECT_THAT(refusal(damaged), AllOf(HasSubstr("runs/a/run.json"), HasSubstr(field + " is missing"))) << place;
    ++refused;
  }
  EXPECT_GE(refused, 30);
  for (const char* section : {"config", "origins", "machine", "libraries", "model", "precision", "memory", "result"}) {
    Json damaged = whole;
    damaged.erase(section);
    EXPECT_THAT(refusal(damaged), HasSubstr(std::string("field ") + section + " is missing"));
  }
}

TEST(RunFiles, NamesTheFieldOfAWrongTypeOrRange) {
  const auto with = [](const char* place, const Json& value) {
    Json run = run_json("a", "rowwise");
    run[Json::json_pointer(place)] = value;
    return refusal(run);
  };
  EXPECT_THAT(with("/version", 2), HasSubstr("version must be 1"));
  EXPECT_THAT(with("/name", 5), HasSubstr("name must be a string"));
  EXPECT_THAT(with("/status", "done"), HasSubstr("status must be running, finished"));
  EXPECT_THAT(with("/command_line", "octet"), HasSubstr("command_line must be an array"));
  EXPECT_THAT(with("/command_line/0", 1), HasSubstr("command_line must hold strings"));
  EXPECT_THAT(with("/machine/cores", -1), HasSubstr("machine.cores must be a whole number"));
  EXPECT_THAT(with("/machine/cores", 1.5), HasSubstr("machine.cores must be a whole number"));
  EXPECT_THAT(with("/machine/memory_bytes", 9223372036854775808ULL), HasSubstr("below 2^63"));
  EXPECT_THAT(with("/precision/layers/1/k", "x"), HasSubstr("precision.layers[1].k must be"));
  EXPECT_THAT(with("/precision/layers/1", 3), HasSubstr("precision.layers[1] must be an object"));
  EXPECT_THAT(with("/precision/layers_fp8", 3), HasSubstr("exceeds the number of layers"));
  EXPECT_THAT(with("/result/tokens_per_second", nullptr), HasSubstr("result.tokens_per_second must be a number"));
  EXPECT_THAT(with("/result/ms_per_step", -1), HasSubstr("must not be negative"));
  EXPECT_THAT(with("/libraries/oneDNN", 2), HasSubstr("libraries.oneDNN must be a string"));
  EXPECT_THAT(with("/demonstration", {{"fault", "f"}, {"saturated_share", 1.5}}), HasSubstr("between 0 and 1"));
}

TEST(RunFiles, ReadsNullLossesAsNaN) {
  Json run = run_json("a", "rowwise");
  run["result"]["train_loss"] = nullptr;
  run["result"]["val_loss"] = nullptr;
  const std::string line =
      R"({"step":1,"loss":null,"grad_norm":null,"lr":0,"tokens_per_second":1,"ms":1,"memory_bytes":1,"val_loss":null})";
  const RunRecord record = parse_run("runs/a", run.dump(), line + "\n");
  EXPECT_TRUE(std::isnan(record.result->train_loss));
  ASSERT_TRUE(record.result->val_loss);
  EXPECT_TRUE(std::isnan(*record.result->val_loss));
  EXPECT_TRUE(std::isnan(record.metrics[0].loss));
  EXPECT_TRUE(std::isnan(record.metrics[0].grad_norm));
  ASSERT_TRUE(record.metrics[0].val_loss);
  EXPECT_TRUE(std::isnan(*record.metrics[0].val_loss));
}

TEST(RunFiles, ReadsAndRefusesFlags) {
  const std::string run = run_json("a", "rowwise").dump();
  const std::string line =
      R"({"step":1,"loss":1,"grad_norm":1,"lr":0,"tokens_per_second":1,"ms":1,"memory_bytes":1,"skipped":)";
  EXPECT_TRUE(parse_run("runs/a", run, line + "true}\n").metrics[0].skipped);
  EXPECT_THAT(refusal(run, line + "1}\n"), HasSubstr("field skipped must be true or false"));
}

TEST(MetricsLine, HoldsEveryNumber) {
  EXPECT_EQ(metrics_line({3, 2.5, 0.125, 1e-3, 100, 8, 4096, 2.25, 1.5, 0.25, 3.5, false}),
            R"({"step":3,"loss":2.5,"grad_norm":0.125,"lr":0.001,"tokens_per_second":100.0,"ms":8.0,)"
            R"("memory_bytes":4096,"val_loss":2.25,"worst_expert_load":1.5,"balance_loss":0.25,"mtp_loss":3.5})");
}

TEST(MetricsLine, HoldsASavedCheckpoint) {
  StepMetrics step;
  step.checkpoint = SavedCheckpoint{2, 12.5, 0.25};
  const std::string line = metrics_line(step);
  EXPECT_THAT(line, HasSubstr(R"("checkpoint":{"step":2,"ms":12.5,"stall_ms":0.25})"));
  const std::string run = run_json("a", "rowwise").dump();
  EXPECT_EQ(parse_run("runs/a", run, line + "\n").metrics.at(0).checkpoint, step.checkpoint);
}

TEST(MetricsLine, NotFiniteIsNull) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(metrics_line({1, std::nan(""), inf, 0, 0, 0, 0, -inf, {}, {}, {}, true}),
            R"({"step":1,"loss":null,"grad_norm":null,"lr":0.0,"tokens_per_second":0.0,"ms":0.0,)"
            R"("memory_bytes":0,"val_loss":null,"skipped":true})");
}

/// Random patterns of bits, all finite ones of either sign; and the neighbours of numbers that print short.
TEST(MetricsLine, NumbersKeepTheirBits) {
  std::vector<double> numbers;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto words = philox(1, i, 0);
    numbers.push_back(std::bit_cast<double>(std::uint64_t{words[0]} << 32 | words[1]));
    numbers.push_back(std::nextafter(0.001 * static_cast<double>(i), 10.0));
  }
  const std::string run = run_json("a", "rowwise").dump();
  for (const double number : numbers) {
    if (!std::isfinite(number)) continue;
    const StepMetrics written{1, number, -number, 0, 0, 0, 0, number, false};
    const StepMetrics read = parse_run("runs/a", run, metrics_line(written) + "\n").metrics.at(0);
    const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
    EXPECT_EQ(bits(read.loss), bits(number));
    EXPECT_EQ(bits(read.grad_norm), bits(-number));
    EXPECT_EQ(bits(read.val_loss.value()), bits(number));
  }
}

TEST(RunFiles, ARunThatHasNotEndedNeedsNoResult) {
  Json run = run_json("a", "rowwise");
  run.erase("result");
  run.erase("finished");
  EXPECT_THAT(refusal(run), HasSubstr("finished is missing"));
  run["status"] = "interrupted";
  const RunRecord record = parse_run("runs/a", run.dump(), "");
  EXPECT_EQ(record.status, RunStatus::interrupted);
  EXPECT_FALSE(record.result);
}

TEST(RunFiles, CountsAHalfWrittenLastLine) {
  const std::string run = run_json("a", "rowwise").dump();
  std::string metrics = metrics_jsonl(3, 3);
  metrics.resize(metrics.size() - 20);
  const RunRecord record = parse_run("runs/a", run, metrics);
  EXPECT_EQ(record.half_written_lines, 1);
  EXPECT_EQ(record.metrics.size(), 2U);
}

TEST(RunFiles, KeepsAWholeLastLineThatLacksItsNewline) {
  std::string metrics = metrics_jsonl(3, 3);
  metrics.pop_back();
  const RunRecord record = parse_run("runs/a", run_json("a", "rowwise").dump(), metrics);
  EXPECT_EQ(record.half_written_lines, 0);
  EXPECT_EQ(record.metrics.size(), 3U);
}

TEST(RunFiles, RefusesDamageElsewhereInTheMetrics) {
  const std::string run = run_json("a", "rowwise").dump();
  const std::string good = metrics_jsonl(1, 3);
  EXPECT_THAT(refusal(run, good + "{\"step\":2,\"lo\n" + good), HasSubstr("runs/a/metrics.jsonl:2: not valid JSON"));
  EXPECT_THAT(refusal(run, good + "{\"step\":2,\"lo\n"), HasSubstr("metrics.jsonl:2: not valid JSON"));
  EXPECT_THAT(refusal(run, good + "nonsense"), HasSubstr("metrics.jsonl:2: not valid JSON"));
  EXPECT_THAT(refusal(run, good + "\n"), HasSubstr("metrics.jsonl:2: not valid JSON"));
  EXPECT_THAT(refusal(run, good + "{\"step\":2}\n"), HasSubstr("metrics.jsonl:2: field loss is missing"));
  EXPECT_THAT(refusal(run, "[1]\n"), HasSubstr("metrics.jsonl:1: the content must be an object"));
}

TEST(RunFiles, AResumedRunSupersedesTheStepsItRepeats) {
  std::string resumed = metrics_jsonl(4, 3);
  resumed.erase(0, resumed.find('\n', resumed.find('\n') + 1) + 1);  // steps 3 and 4
  const RunRecord record = parse_run("runs/a", run_json("a", "rowwise").dump(), metrics_jsonl(6, 3) + resumed);
  EXPECT_EQ(record.superseded_lines, 4);
  ASSERT_EQ(record.metrics.size(), 4U);
  EXPECT_EQ(record.metrics.back().step, 4);
}

TEST(RunFiles, RefusesHostileJson) {
  EXPECT_THAT(refusal("{\"version\":1,\"version\":1}", ""), HasSubstr("\"version\" is given twice"));
  EXPECT_THAT(refusal(std::string(100000, '['), ""), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(refusal("{\"version\":1e999}", ""), HasSubstr("too large for a double"));
  EXPECT_THAT(refusal("{\"name\":\"\xFF\"}", ""), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("", ""), HasSubstr("not valid JSON at byte"));
}

/// Every prefix of a valid file is refused with a UserError: nothing else may come out of the reader.
TEST(RunFiles, RefusesEveryTruncation) {
  const std::string whole = run_json("a", "rowwise").dump();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(refusal(whole.substr(0, size), ""), HasSubstr("run.json: not valid JSON")) << size;
  }
}

TEST(RunFiles, ReadsADirectoryAndNamesTheFileThatIsNotThere) {
  const std::filesystem::path directory = std::filesystem::path(::testing::TempDir()) / "octet_run_files";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "run.json") << run_json("a", "rowwise").dump();
  try {
    static_cast<void>(read_run(directory));
    FAIL() << "metrics.jsonl is not there";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr((directory / "metrics.jsonl").string() + ": cannot be opened"));
  }
  std::ofstream(directory / "metrics.jsonl") << metrics_jsonl(2, 3);
  EXPECT_EQ(read_run(directory).metrics.size(), 2U);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace octet::io
