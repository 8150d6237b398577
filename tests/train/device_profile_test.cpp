// The profile of a device that runs behind the host: two tracks, one of them with the times that the device measured.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ops/lagging_backend.h"
#include "train/profile.h"
#include "train/small_engine.h"

namespace octet::test {
namespace {

using Json = nlohmann::json;

constexpr int kHost = 1;
constexpr int kDevice = 2;

/// An event of a track, and the names of the spans around it: "step 1/micro-batch/forward/layers.0".
struct Placed {
  std::string place;
  Json event;
};

double start(const Json& event) {
  return event.at("ts").get<double>();
}

double stop(const Json& event) {
  return start(event) + event.at("dur").get<double>();
}

/// Complete events of a track, in the order of the file. Fails where one does not lie within those around it.
std::vector<Placed> track(const std::string& profile, int number) {
  constexpr double kRounding = 2e-3;  // two nanoseconds
  std::vector<Placed> placed;
  std::vector<Json> open;
  const Json parsed = Json::parse(profile);
  for (const Json& event : parsed.at("traceEvents")) {
    if (event.at("ph") != "X" || event.at("tid") != number) continue;
    while (!open.empty() && start(event) >= stop(open.back()) - kRounding) open.pop_back();
    std::string place;
    for (const Json& span : open) place += (place.empty() ? "" : "/") + span.at("name").get<std::string>();
    if (!open.empty()) {
      EXPECT_LE(stop(event), stop(open.back()) + kRounding) << event << " in " << open.back();
    }
    placed.push_back({place, event});
    const auto category = event.at("cat").get<std::string>();
    if (category == "phase" || category == "layer") open.push_back(event);
  }
  return placed;
}

std::vector<Placed> of_category(const std::vector<Placed>& events, std::string_view category) {
  std::vector<Placed> found;
  std::ranges::copy_if(events, std::back_inserter(found),
                       [&](const Placed& each) { return each.event.at("cat") == category; });
  return found;
}

class DeviceProfile : public testing::Test {
 protected:
  /// A step as the loop makes it; `compute` gives its outcome.
  template <typename Compute>
  void profile_step(std::int64_t step, const Compute& compute) {
    ops::Executor& run = engine_.executor();
    run.set_tracer(&profile_);
    {
      const auto span = run.phase(fmt::format("step {}", step));
      first_run_ = device().runs().size();
      engine_.update(step, 1e-3, compute(engine_).grad_norm);
      run.settle_times();
    }
    run.set_tracer(nullptr);
  }
  void profile_step(std::int64_t step) {
    profile_step(step, [](Engine& engine) { return engine.compute_gradients(); });
  }
  [[nodiscard]] const LaggingDevice& device() const { return lagging(engine_.backend()); }

  Engine engine_ = small_engine(
      small_config({"training.accumulate=2", "precision.shadow=bf16", "precision.shadow_interval=1"}).config,
      make_lagging_backend());
  Profile profile_{{1, 2}};
  std::size_t first_run_ = 0;  ///< of the device's runs, that of the last step
};

TEST_F(DeviceProfile, OpsHaveTheTimesOfTheDevice) {
  profile_step(1);
  const auto found = of_category(track(profile_.json(), kDevice), "op");
  const auto expected = std::span(device().runs()).subspan(first_run_);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Json& event = found[i].event;
    const double seconds = expected[i].end - expected[i].begin;
    EXPECT_EQ(event.at("name"), expected[i].op);
    EXPECT_NEAR(event.at("dur").get<double>(), seconds * 1e6, 3e-3);
    EXPECT_NEAR(start(event) - start(found[0].event), (expected[i].begin - expected[0].begin) * 1e6, 3e-3);
    const Json& arguments = event.at("args");
    EXPECT_NEAR(arguments.at("gbytes_per_second").get<double>(),
                arguments.at("bytes_moved").get<double>() / seconds / 1e9,
                1e-3 * arguments.at("gbytes_per_second").get<double>());
  }
}

TEST_F(DeviceProfile, BothTracksShowTheSameOpsInTheSamePlaces) {
  profile_step(1);
  profile_step(2);
  const auto enqueued = of_category(track(profile_.json(), kHost), "enqueue");
  const auto ran = of_category(track(profile_.json(), kDevice), "op");
  ASSERT_EQ(enqueued.size(), ran.size());
  ASSERT_FALSE(ran.empty());
  for (std::size_t i = 0; i < ran.size(); ++i) {
    EXPECT_EQ(enqueued[i].event.at("name"), ran[i].event.at("name"));
    EXPECT_EQ(enqueued[i].place, ran[i].place);
    EXPECT_TRUE(ran[i].place.starts_with("step ")) << ran[i].event;
    EXPECT_FALSE(enqueued[i].event.at("args").contains("flops")) << "a rate of enqueueing is none";
  }
  std::set<std::string> places;
  for (const Placed& each : ran) places.insert(each.place);
  EXPECT_TRUE(places.contains("step 1/micro-batch/forward/layers.1"));
  EXPECT_TRUE(places.contains("step 2/micro-batch/backward/layers.0"));
}

TEST_F(DeviceProfile, TheHostIsSeenToWait) {
  profile_step(1);
  std::vector<std::string> places;
  for (const Placed& each : of_category(track(profile_.json(), kHost), "wait")) places.push_back(each.place);
  EXPECT_EQ(places, (std::vector<std::string>{"step 1", "step 1"})) << "for the loss, and for the step's end";
  EXPECT_TRUE(of_category(track(profile_.json(), kDevice), "wait").empty());
}

TEST_F(DeviceProfile, AWatchedStepHasAllItsTimesToo) {
  profile_step(1, [](Engine& engine) { return engine.compute_watched_gradients(); });
  std::map<std::string, int> copies;
  for (const Placed& each : of_category(track(profile_.json(), kDevice), "op")) {
    if (each.event.at("name") == ops::Copy::name) ++copies[each.place.substr(0, each.place.find("/forward"))];
  }
  EXPECT_GT(copies["step 1/watched micro-batch/in bf16"], 0);
  EXPECT_EQ(of_category(track(profile_.json(), kDevice), "op").size(), device().runs().size() - first_run_);
}

TEST_F(DeviceProfile, StepsOutsideTakeNoMarks) {
  engine_.update(1, 1e-3, engine_.compute_gradients().grad_norm);
  EXPECT_EQ(device().marks_taken(), 0);
  profile_step(2);
  const int marks = device().marks_taken();
  EXPECT_GT(marks, 0);
  engine_.update(3, 1e-3, engine_.compute_gradients().grad_norm);
  engine_.executor().settle_times();
  EXPECT_EQ(device().marks_taken(), marks);
}

}  // namespace
}  // namespace octet::test
