// What is collected of the scales that the executor shows, and that nothing watches afterwards.
#include "train/scale_watch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/small_engine.h"

namespace octet::test {
namespace {

using Buckets = std::map<std::int64_t, std::uint64_t>;

class ScaleWatchTest : public testing::Test {
 protected:
  /// As a layer does, of which `inverse_scales` has as many as rows.
  void show(std::string_view name, std::vector<float> inverse_scales) {
    engine_.executor().observe(name, {inverse_scales.data(), DType::f32, 1, std::ssize(inverse_scales)});
  }

  Engine engine_ = small_engine(small_config().config);
};

TEST_F(ScaleWatchTest, CollectsLogarithmsOfScalesOverMicroBatches) {
  const ScaleWatch watch(engine_.executor());
  show("a.input_scale", {0.25F, 1.0F});
  show("a.input_scale", {0.25F, NAN});
  show("a.weight_scale", {8.0F});
  show("a.output", {1.0F});
  ASSERT_EQ(watch.log2_scales().size(), 2U);
  EXPECT_EQ(watch.log2_scales().at("a.input").buckets(), (Buckets{{0, 1}, {16, 2}}));  // eighths of an octave
  EXPECT_EQ(watch.log2_scales().at("a.weight").buckets(), (Buckets{{-24, 1}}));
}

TEST_F(ScaleWatchTest, NothingWatchesAfterwards) {
  int seen = 0;
  engine_.executor().set_observer([&](std::string_view, const Tensor&) { ++seen; });
  { const ScaleWatch watch(engine_.executor()); }
  show("a.input_scale", {1.0F});
  EXPECT_EQ(seen, 0);
}

}  // namespace
}  // namespace octet::test
