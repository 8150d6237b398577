// The profile of a small run: JSON that nests, the layers' names, and the time that the executor counts too.
#include "train/profile.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "train/small_run.h"

namespace octet::test {
namespace {

using Json = nlohmann::json;

/// The complete events of a profile, in the order of the file.
std::vector<Json> complete_events(const std::string& text) {
  std::vector<Json> events;
  const Json profile = Json::parse(text);
  for (const Json& event : profile.at("traceEvents")) {
    if (event.at("ph") == "X") events.push_back(event);
  }
  return events;
}

double end_of(const Json& event) {
  return event.at("ts").get<double>() + event.at("dur").get<double>();
}

/// The names of the spans around each op, "step 2/gradients/micro-batch/forward/layers.0", with the ops' names.
/// Fails where an event does not lie within the one that it began in.
std::vector<std::pair<std::string, Json>> ops_by_place(const std::vector<Json>& events) {
  constexpr double kRounding = 1e-3;  // a nanosecond: times are doubles of microseconds
  std::vector<std::pair<std::string, Json>> ops;
  std::vector<Json> open;
  for (const Json& event : events) {
    while (!open.empty() && event.at("ts").get<double>() >= end_of(open.back())) open.pop_back();
    if (!open.empty()) {
      EXPECT_LE(end_of(event), end_of(open.back()) + kRounding) << event.dump() << open.back().dump();
    }
    if (event.at("cat") != "op") {
      open.push_back(event);
      continue;
    }
    std::string place;
    for (const Json& span : open) place += (place.empty() ? "" : "/") + span.at("name").get<std::string>();
    ops.emplace_back(place, event);
  }
  return ops;
}

class ProfileTest : public SmallRuns {
 protected:
  [[nodiscard]] std::vector<Json> profile_of(std::vector<std::string> overrides, StepRange steps) const {
    TrainRequest wanted = request("run", std::move(overrides));
    wanted.profile = steps;
    (void)train(std::move(wanted));
    return complete_events(read_file(path("run") / "profile.json"));
  }
};

TEST_F(ProfileTest, HoldsTheStepsAskedForAndTheirParts) {
  std::map<std::string, int> spans;
  for (const Json& event : profile_of({"training.accumulate=2", "validation.interval=3"}, {2, 3})) {
    if (event.at("cat") == "phase") ++spans[event.at("name")];
  }
  EXPECT_EQ(spans, (std::map<std::string, int>{{"step 2", 1},
                                               {"step 3", 1},
                                               {"data", 2},
                                               {"gradients", 2},
                                               {"micro-batch", 4},
                                               {"forward", 4},
                                               {"head and loss", 4},
                                               {"backward", 4},
                                               {"optimizer", 2},
                                               {"validation", 1}}));
}

TEST_F(ProfileTest, EventsNestAndOpsKnowTheirLayer) {
  std::map<std::string, std::string> place_of;  // of a result that products or norms made
  for (const auto& [place, op] : ops_by_place(profile_of({}, {2, 2}))) {
    EXPECT_TRUE(place.starts_with("step 2/")) << op.dump();
    const Json& arguments = op.at("args");
    EXPECT_GE(arguments.at("bytes_moved").get<double>(), 1.0);
    EXPECT_TRUE(arguments.at("gbytes_per_second").is_number() && arguments.at("gflops_per_second").is_number());
    if (op.at("name") == "gemm")
      place_of[arguments.at("result")] = place + "/" + arguments.at("layer").get<std::string>();
  }
  const std::string train = "step 2/gradients/micro-batch/";
  EXPECT_EQ(place_of.at("layers.1.attention.wqkv.output"), train + "forward/layers.1/layers.1.attention.wqkv");
  EXPECT_EQ(place_of.at("layers.0.feed_forward.w2.weight_gradient"),
            train + "backward/layers.0/layers.0.feed_forward.w2");
  EXPECT_EQ(place_of.at("output.input_gradient"), train + "head and loss/output");
}

TEST_F(ProfileTest, OpsWithoutANamedResultBearTheLayerAroundThem) {
  std::map<std::string, int> adamw;
  std::map<std::string, int> zeros;
  for (const auto& [place, op] : ops_by_place(profile_of({}, {1, 1}))) {
    if (op.at("name") == "adamw") ++adamw[op.at("args").at("layer").get<std::string>() + " in " + place];
    if (op.at("name") == "zero") ++zeros[op.at("args").value("layer", "none")];
  }
  EXPECT_EQ(
      zeros,
      (std::map<std::string, int>{
          {"output", 1}, {"layers.1.feed_forward.w2", 1}, {"layers.0.feed_forward.w2", 1}, {"tok_embeddings", 1}}))
      << "gradients are cleared for the result that follows";
  const std::string place = "step 1/optimizer/";
  EXPECT_EQ(adamw, (std::map<std::string, int>{{"tok_embeddings in " + place + "tok_embeddings", 1},
                                               {"layers.0 in " + place + "layers.0", 6},
                                               {"layers.1 in " + place + "layers.1", 6},
                                               {"head in " + place + "head", 2}}));
}

TEST(Profile, TimesAreThoseOfTheExecutor) {
  Engine engine = small_engine(small_config().config);
  Profile profile({1, 1});
  engine.executor().reset_totals();
  engine.executor().set_tracer(&profile);
  {
    const auto step = engine.executor().phase("step 1");
    engine.update(1, 1e-3, engine.compute_gradients().grad_norm);
  }
  engine.executor().set_tracer(nullptr);
  const auto expected = engine.executor().totals();
  (void)engine.compute_gradients();  // not watched any more
  std::map<std::string_view, ops::OpTotals> found;
  const std::vector<Json> events = complete_events(profile.json());
  for (const Json& event : events) {
    if (event.at("cat") != "op") continue;
    ops::OpTotals& totals = found[event.at("name").get_ref<const std::string&>()];
    ++totals.calls;
    totals.seconds += event.at("dur").get<double>() * 1e-6;
    totals.flops += event.at("args").at("flops").get<double>();
    totals.bytes += event.at("args").at("bytes_moved").get<double>();
  }
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, totals] : expected) {
    EXPECT_EQ(found[name].calls, totals.calls) << name;
    EXPECT_EQ(found[name].flops, totals.flops) << name;
    EXPECT_EQ(found[name].bytes, totals.bytes) << name;
    EXPECT_NEAR(found[name].seconds, totals.seconds, 1e-9) << name;
  }
}

TEST_F(ProfileTest, CountsPlannedMemoryInUse) {
  TrainRequest wanted = request("run");
  wanted.profile = StepRange{1, 1};
  (void)train(std::move(wanted));
  std::size_t peak = 0;
  const Json profile = Json::parse(read_file(path("run") / "profile.json"));
  for (const Json& event : profile.at("traceEvents")) {
    if (event.at("ph") == "C") peak = std::max(peak, event.at("args").at("bytes").get<std::size_t>());
  }
  std::size_t planned = 0;
  const Json memory = Json::parse(read_file(path("run") / "run.json")).at("memory");
  for (const auto& [name, bytes] : memory.at("categories").items()) planned += bytes.get<std::size_t>();
  EXPECT_GT(peak, planned * 9 / 10);  // the moment of the peak may lie between two ops
  EXPECT_LE(peak, planned);
}

}  // namespace
}  // namespace octet::test
