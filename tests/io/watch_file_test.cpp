// watch.jsonl: written and read again, refused where it is damaged, summed up, and shown in the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "core/error.h"
#include "io/mutations.h"
#include "io/report.h"
#include "io/report_fixture.h"
#include "io/report_markup.h"
#include "io/scratch.h"
#include "io/watch_summary.h"

namespace octet::io {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kNaN;
using testing::metrics_jsonl;
using testing::read_markup;
using testing::run_json;
using Json = nlohmann::json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Three layers: sound, worse, and one that casts nothing.
WatchedStep watched_step(std::int64_t step) {
  return {.step = step,
          .seconds = 0.125,
          .loss_bf16 = 3.25,
          .loss = 3.2515,
          .layers = {{"layers.0.wqkv", 28.25, 27.5, 26.75, CastShares{0, 0.0012}, CastShares{0, 0.5}, CastShares{0, 0}},
                     {"layers.0.wo", 19.0, 18.0, 21.0, CastShares{0.02, 0}, CastShares{0.03, 0}, CastShares{0.04, 0}},
                     {"output", kInfinity, -kInfinity, kNaN, {}, {}, {}}}};
}

RunRecord record_with(const std::string& watch) {
  return parse_run("runs/a", run_json("a", "rowwise").dump(), metrics_jsonl(10, 3), watch);
}

/// The message with which the file is refused; empty where it is read.
std::string refusal(const std::string& watch) {
  try {
    (void)record_with(watch);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(WatchFile, ReadsWhatWasWritten) {
  const WatchedStep written = watched_step(100);
  const RunRecord run = record_with(watch_line(written) + "\n" + watch_line(watched_step(200)) + "\n");
  ASSERT_EQ(run.watched.size(), 2U);
  const WatchedStep& read = run.watched.front();
  EXPECT_EQ(read.step, 100);
  EXPECT_EQ(read.seconds, written.seconds);
  EXPECT_EQ(read.loss_bf16, written.loss_bf16);
  EXPECT_EQ(read.loss, written.loss);
  ASSERT_EQ(read.layers.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.layers[i].layer, written.layers[i].layer);
    EXPECT_EQ(read.layers[i].output_sqnr_db, written.layers[i].output_sqnr_db);
    EXPECT_EQ(read.layers[i].input_gradient_sqnr_db, written.layers[i].input_gradient_sqnr_db);
    EXPECT_EQ(read.layers[i].weight_gradient_sqnr_db, written.layers[i].weight_gradient_sqnr_db);
    EXPECT_EQ(read.layers[i].input, written.layers[i].input);
    EXPECT_EQ(read.layers[i].gradient, written.layers[i].gradient);
    EXPECT_EQ(read.layers[i].weight, written.layers[i].weight);
  }
  EXPECT_EQ(read.layers[2].output_sqnr_db, kInfinity);
  EXPECT_EQ(read.layers[2].input_gradient_sqnr_db, -kInfinity);
  EXPECT_TRUE(std::isnan(read.layers[2].weight_gradient_sqnr_db));
  EXPECT_FALSE(read.layers[2].input || read.layers[2].gradient || read.layers[2].weight);
}

TEST(WatchFile, HoldsWordsForWhatJsonLacks) {
  WatchedStep watched = watched_step(1);
  watched.loss = kNaN;
  const Json line = Json::parse(watch_line(watched));
  EXPECT_TRUE(line.at("loss").is_null());
  EXPECT_EQ(line.at("layers").at(2).at("output_sqnr_db"), "equal");
  EXPECT_EQ(line.at("layers").at(2).at("input_gradient_sqnr_db"), "no_signal");
  EXPECT_EQ(line.at("layers").at(2).at("weight_gradient_sqnr_db"), "not_finite");
  EXPECT_TRUE(std::isnan(record_with(line.dump() + "\n").watched.front().loss));
}

TEST(WatchFile, NamesEveryMissingField) {
  const Json whole = Json::parse(watch_line(watched_step(1)));
  const Json places = whole.flatten();
  for (const auto& [place, value] : places.items()) {
    const Json::json_pointer pointer(place);
    Json damaged = whole;
    damaged[pointer.parent_pointer()].erase(pointer.back());
    EXPECT_THAT(refusal(damaged.dump() + "\n"),
                AllOf(HasSubstr("runs/a/watch.jsonl:1"), HasSubstr(pointer.back() + " is missing")))
        << place;
  }
}

TEST(WatchFile, NamesTheFieldOfAWrongTypeOrRange) {
  const auto with = [](const char* place, const Json& value) {
    Json line = Json::parse(watch_line(watched_step(1)));
    line[Json::json_pointer(place)] = value;
    return refusal(line.dump() + "\n");
  };
  EXPECT_THAT(with("/step", -1), HasSubstr("field step must be a whole number"));
  EXPECT_THAT(with("/seconds", -1), HasSubstr("field seconds must not be negative"));
  EXPECT_THAT(with("/layers", 1), HasSubstr("field layers must be an array"));
  EXPECT_THAT(with("/layers/0/output_sqnr_db", "loud"),
              HasSubstr("layers[0].output_sqnr_db must be a number, \"equal\", \"no_signal\" or \"not_finite\""));
  EXPECT_THAT(with("/layers/0/output_sqnr_db", nullptr), HasSubstr("layers[0].output_sqnr_db must be a number"));
  EXPECT_THAT(with("/layers/1/gradient/saturated", 1.5), HasSubstr("layers[1].gradient.saturated must lie between"));
  EXPECT_THAT(with("/layers/1/weight", nullptr), HasSubstr("layers[1].weight must be an object"));
}

TEST(WatchFile, LeavesOutALineThatAKillCutShort) {
  std::string watch = watch_line(watched_step(100)) + "\n" + watch_line(watched_step(200));
  watch.resize(watch.size() - 20);
  const RunRecord run = record_with(watch);
  ASSERT_EQ(run.watched.size(), 1U);
  EXPECT_EQ(run.half_written_lines, 0) << "that of metrics.jsonl alone";
  EXPECT_THAT(refusal("{\"step\":\n" + watch), HasSubstr("watch.jsonl:1: not valid JSON"));
}

TEST(WatchFile, DamageIsReadOrRefusedWithOneLine) {
  constexpr std::string_view tokens = "[]{}\":,.eE+-0123456789tfn\\ \n\x80\xff";
  const std::string whole = watch_line(watched_step(100)) + "\n" + watch_line(watched_step(200)) + "\n";
  Mutator mutator(1);
  int valid = 0;
  constexpr int rounds = 3000;
  for (int i = 0; i < rounds; ++i) {
    const std::string message = refusal(mutator.mutate(whole, tokens));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    valid += message.empty() ? 1 : 0;
  }
  EXPECT_GT(valid, rounds / 100);
  EXPECT_LT(valid, rounds * 3 / 4);
}

TEST(WatchFile, NeedNotBeThere) {
  const ScratchDirectory scratch;
  scratch.write("run.json", run_json("a", "rowwise").dump());
  scratch.write("metrics.jsonl", metrics_jsonl(2, 3));
  EXPECT_TRUE(read_run(scratch.path()).watched.empty());
  scratch.write("watch.jsonl", watch_line(watched_step(2)) + "\n");
  EXPECT_EQ(read_run(scratch.path()).watched.size(), 1U);
}

TEST(WatchSummary, NamesTheWorstLayers) {
  WatchedStep watched = watched_step(1);
  watched.layers.pop_back();
  EXPECT_EQ(watch_summary(watched), "worst output 19.0 dB (layers.0.wo), worst gradient 18.0 dB (layers.0.wo)");
  watched.layers[0].weight_gradient_sqnr_db = 17;
  EXPECT_EQ(watch_summary(watched), "worst output 19.0 dB (layers.0.wo), worst gradient 17.0 dB (layers.0.wqkv)");
  watched.layers[1].output_sqnr_db = kInfinity;
  watched.layers[1].input_gradient_sqnr_db = kNaN;
  EXPECT_EQ(watch_summary(watched), "worst output 28.2 dB (layers.0.wqkv), worst gradient not finite (layers.0.wo)");
  watched.layers.clear();
  EXPECT_EQ(watch_summary(watched), "no layers");
}

TEST(WatchSummary, PutsWhatIsNotFiniteFirstAndWhatIsEqualLast) {
  WatchedStep watched = watched_step(1);
  watched.layers.push_back({"same", kInfinity, kInfinity, kInfinity, {}, {}, {}});
  watched.layers.push_back({"silent", -kInfinity, 30, 30, {}, {}, {}});
  std::vector<std::string> names;
  for (const LayerNumerics* layer : worst_first(watched)) names.push_back(layer->layer);
  EXPECT_THAT(names, ::testing::ElementsAre("output", "silent", "layers.0.wo", "layers.0.wqkv", "same"));
}

TEST(WatchReport, ShowsTheLastWatchedStepWorstFirst) {
  const std::string html = render_report(
      std::vector{record_with(watch_line(watched_step(100)) + "\n" + watch_line(watched_step(1200)) + "\n")});
  EXPECT_EQ(read_markup(html).fault, "");
  EXPECT_THAT(html, HasSubstr("<h2>Numerics watch</h2>"));
  EXPECT_THAT(html, HasSubstr("step 1,200: worst output 19.0 dB (layers.0.wo)"));
  EXPECT_THAT(html, HasSubstr("loss 3.2515, in bf16 3.2500"));
  for (const char* figure : {">not finite<", ">no signal<", ">equal<", ">0.12 %<", ">50 %<", ">0<", ">–<"}) {
    EXPECT_THAT(html, HasSubstr(figure));
  }
  const std::string section = html.substr(html.find("Numerics watch"));
  EXPECT_LT(section.find("<code>output"), section.find("<code>layers.0.wo<"));
  EXPECT_LT(section.find("<code>layers.0.wo<"), section.find("<code>layers.0.wqkv<"));
  EXPECT_THAT(html, HasSubstr("<details open=\"\">"));
}

TEST(WatchReport, FoldsALongTable) {
  WatchedStep watched = watched_step(1);
  watched.layers.insert(watched.layers.end(), 10, watched.layers[0]);
  EXPECT_EQ(render_report(std::vector{record_with(watch_line(watched) + "\n")}).find("<details open"),
            std::string::npos);
}

TEST(WatchReport, IsSilentWhereNothingWasWatched) {
  EXPECT_EQ(render_report(std::vector{record_with("")}).find("Numerics watch"), std::string::npos);
}

TEST(WatchReport, EscapesLayerNames) {
  WatchedStep watched = watched_step(1);
  for (LayerNumerics& layer : watched.layers) layer.layer = "\x01</code><script>alert(1)</script>\"'&";
  const std::string html = render_report(std::vector{record_with(watch_line(watched) + "\n")});
  EXPECT_EQ(read_markup(html).fault, "");
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

}  // namespace
}  // namespace octet::io
