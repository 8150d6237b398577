// The numerics watch of a device that runs behind the host, whose memory the host cannot touch: what it shows is what
// it shows on the CPU.
#include <gtest/gtest.h>

#include "ops/lagging_backend.h"
#include "train/trained.h"
#include "train/watch_log.h"

namespace octet::test {
namespace {

Config watching_config(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), {"precision.shadow=bf16", "precision.shadow_interval=1", "training.seq_len=48"});
  return small_config(overrides).config;
}

/// The line of watch.jsonl, but for the time that it took.
std::string watched_line(Engine& engine) {
  (void)engine.compute_watched_gradients();
  io::WatchedStep watched = describe_watched(engine, 1);
  watched.seconds = 0;
  return io::watch_line(watched);
}

const LaggingDevice& lagging_device_of(const Engine& engine) {
  return lagging(engine.backend());
}

TEST(DeviceWatch, ShowsWhatItShowsOnTheCpu) {
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>{"precision.recipe=tensorwise"},
        {"precision.recipe=rowwise", "precision.head=fp8", "model.tied_embeddings=true"},
        {"precision.recipe=rowwise_hp_wgrad", "training.accumulate=2"}}) {
    Engine here = small_engine(watching_config(overrides));
    Engine behind = small_engine(watching_config(overrides), make_lagging_backend());
    EXPECT_EQ(watched_line(behind), watched_line(here)) << overrides.front();
  }
}

TEST(DeviceWatch, LeavesTheTrainingAsItIs) {
  const Config config = watching_config({"precision.recipe=rowwise", "training.accumulate=2"});
  Engine plain = small_engine(config, make_lagging_backend());
  Engine watched = small_engine(config, make_lagging_backend());
  const auto watch_the_second = [](Engine& engine, int step) {
    return step == 2 ? engine.compute_watched_gradients() : engine.compute_gradients();
  };
  EXPECT_EQ(train(plain), train_with(watched, watch_the_second));
}

TEST(DeviceWatch, TakesAsManyCopiesHoweverManyLayers) {
  for (const char* layers : {"model.n_layers=2", "model.n_layers=4"}) {
    Engine engine = small_engine(watching_config({"precision.recipe=rowwise", layers}), make_lagging_backend());
    const auto downloads_of = [&](const auto& compute) {
      const int before = lagging_device_of(engine).downloads();
      compute();
      return lagging_device_of(engine).downloads() - before;
    };
    EXPECT_EQ(downloads_of([&] { (void)engine.compute_gradients(); }), 2) << layers;
    EXPECT_EQ(downloads_of([&] { (void)engine.compute_watched_gradients(); }), 2 + 4) << layers;
  }
}

TEST(DeviceWatch, TimesItsOwnOpsAndNoneAfterwards) {
  Engine engine = small_engine(watching_config({"precision.recipe=rowwise"}), make_lagging_backend());
  engine.executor().reset_totals();
  const std::size_t first = lagging_device_of(engine).runs().size();
  (void)engine.compute_watched_gradients();
  double comparing = 0;
  for (const DeviceRun& ran : std::span(lagging_device_of(engine).runs()).subspan(first)) {
    if (ran.op == ops::Difference::name) comparing += ran.end - ran.begin;
  }
  EXPECT_NEAR(engine.executor().totals().at(ops::Difference::name).seconds, comparing, 1e-9);
  EXPECT_GT(engine.shadow().seconds(), comparing);
  const int marks = lagging_device_of(engine).marks_taken();
  (void)engine.compute_gradients();
  EXPECT_EQ(lagging_device_of(engine).marks_taken(), marks);
}

}  // namespace
}  // namespace octet::test
