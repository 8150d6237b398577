// The numerics watch leaves the training as it is, and says what a computation apart from it says.
#include <gtest/gtest.h>

#include <cmath>

#include "fp8/cast.h"
#include "ops/reference/casts.h"
#include "ops/reference/difference.h"
#include "train/trained.h"
#include "train/watch_log.h"

namespace octet::test {
namespace {

using ops::reference::Vector;

constexpr double kEqual = std::numeric_limits<double>::infinity();

Engine watching_engine(std::vector<std::string> overrides, const std::string& recipe, bool watched) {
  overrides.insert(overrides.begin(), {"precision.recipe=" + recipe, "training.seq_len=48"});
  if (watched) overrides.insert(overrides.begin(), {"precision.shadow=bf16", "precision.shadow_interval=1"});
  return small_engine(small_config(overrides).config);
}

io::WatchedStep watch(Engine& engine) {
  (void)engine.compute_watched_gradients();
  return describe_watched(engine, 1);
}

io::WatchedStep watch(const std::vector<std::string>& overrides, const std::string& recipe) {
  Engine engine = watching_engine(overrides, recipe, true);
  return watch(engine);
}

const io::LayerNumerics& layer(const io::WatchedStep& watched, std::string_view name) {
  for (const io::LayerNumerics& each : watched.layers) {
    if (each.layer == name) return each;
  }
  throw Failure("no layer {} was watched", name);
}

class WatchedTraining : public testing::TestWithParam<const char*> {
 protected:
  /// Watching the second of three steps: what stays of a watch would show in the third.
  void expect_same_bits(const std::vector<std::string>& overrides) const {
    Engine plain = watching_engine(overrides, GetParam(), false);
    Engine watched = watching_engine(overrides, GetParam(), true);
    const auto watch_the_second = [](Engine& engine, int step) {
      return step == 2 ? engine.compute_watched_gradients() : engine.compute_gradients();
    };
    EXPECT_EQ(train(plain), train_with(watched, watch_the_second)) << fmt::format("{}", fmt::join(overrides, " "));
    EXPECT_EQ(plain.executor().fp8_codes_used(), watched.executor().fp8_codes_used());
    EXPECT_EQ(watched.measured_peak(), watched.plan().arena_bytes) << "the plan is exact";
  }
};

TEST_P(WatchedTraining, HasTheSameBits) {
  expect_same_bits({});
  expect_same_bits({"runtime.threads=1"});
  expect_same_bits({"training.accumulate=3"});
  expect_same_bits({"training.recompute=full"});
  expect_same_bits({"training.recompute=selective", "precision.saved_inputs=bf16"});
  expect_same_bits({"precision.weight_codes=per_use"});
  expect_same_bits({"model.tied_embeddings=true"});
  if (std::string_view(GetParam()) != "bf16") expect_same_bits({"precision.head=fp8", "model.tied_embeddings=true"});
}

INSTANTIATE_TEST_SUITE_P(Recipes, WatchedTraining, testing::Values("bf16", "tensorwise", "rowwise", "rowwise_hp_wgrad"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Watch, FindsBf16EqualToItself) {
  for (const char* embeddings : {"model.tied_embeddings=false", "model.tied_embeddings=true"}) {
    const io::WatchedStep watched = watch({embeddings, "training.accumulate=2"}, "bf16");
    EXPECT_EQ(watched.loss, watched.loss_bf16);
    ASSERT_EQ(watched.layers.size(), 9U);
    for (const io::LayerNumerics& each : watched.layers) {
      EXPECT_EQ(each.output_sqnr_db, kEqual) << each.layer;
      EXPECT_EQ(each.input_gradient_sqnr_db, kEqual) << each.layer;
      EXPECT_EQ(each.weight_gradient_sqnr_db, kEqual) << each.layer;
      EXPECT_FALSE(each.input || each.gradient || each.weight) << each.layer << " casts nothing";
    }
  }
}

TEST(Watch, SeesNoErrorInFrontOfTheFirstLayerInFp8) {
  const io::WatchedStep watched = watch({"precision.skip=layers.0.*"}, "rowwise");
  EXPECT_NE(watched.loss, watched.loss_bf16);
  for (const io::LayerNumerics& each : watched.layers) {
    const bool in_front = each.layer.starts_with("layers.0.");
    EXPECT_EQ(each.output_sqnr_db == kEqual, in_front) << each.layer;
    EXPECT_EQ(each.input.has_value(), each.layer.starts_with("layers.1.")) << each.layer;
    EXPECT_TRUE(std::isfinite(each.input_gradient_sqnr_db)) << each.layer;  // each lies behind layer 1's backward
    EXPECT_TRUE(std::isfinite(each.weight_gradient_sqnr_db)) << each.layer;
  }
}

TEST(Watch, IsTheSameHoweverThePassKeepsItsActivations) {
  const io::WatchedStep plain = watch({}, "rowwise");
  for (const std::vector<std::string>& overrides : {std::vector<std::string>{"training.recompute=full"},
                                                    {"precision.weight_codes=per_use"},
                                                    {"precision.saved_inputs=bf16"},
                                                    {"runtime.threads=1"}}) {
    io::WatchedStep other = watch(overrides, "rowwise");
    other.seconds = plain.seconds;
    EXPECT_EQ(io::watch_line(other), io::watch_line(plain)) << overrides.front();
  }
}

// ---- against a computation apart from it
// ------------------------------------------------------------------------------

/// Named tensors of a watched step, in double: first those of the shadow, then those of the training.
std::map<std::string, std::vector<Vector>> observe_watched(Engine& engine) {
  std::map<std::string, std::vector<Vector>> seen;
  engine.executor().set_observer([&](std::string_view name, const Tensor& tensor) {
    const auto count = static_cast<std::size_t>(tensor.numel());
    if (tensor.dtype() == DType::bf16)
      seen[std::string(name)].push_back(ops::reference::widen({tensor.ptr<bf16>(), count}));
    if (tensor.dtype() == DType::f32)
      seen[std::string(name)].push_back(ops::reference::widen({tensor.ptr<float>(), count}));
  });
  (void)engine.compute_watched_gradients();
  engine.executor().set_observer({});
  return seen;
}

TEST(Watch, SqnrIsThatOfTheTensorsInDouble) {
  for (const char* recipe : {"tensorwise", "rowwise", "rowwise_hp_wgrad"}) {
    Engine engine = watching_engine({"precision.head=fp8"}, recipe, true);
    const auto seen = observe_watched(engine);
    const io::WatchedStep watched = describe_watched(engine, 1);
    for (const io::LayerNumerics& each : watched.layers) {
      const auto expect = [&](double found, const char* what) {
        const std::vector<Vector>& both = seen.at(each.layer + what);
        ASSERT_EQ(both.size(), 2U);
        const auto energies = ops::reference::difference(both[0], both[1]);
        EXPECT_NEAR(found, 10 * std::log10(energies.signal / energies.noise), 1e-9)
            << recipe << " " << each.layer << what;
        EXPECT_GT(found, 10) << recipe << " " << each.layer << what;
        EXPECT_LT(found, 60) << recipe << " " << each.layer << what;
      };
      expect(each.output_sqnr_db, ".output");
      expect(each.input_gradient_sqnr_db, ".input_gradient");
      expect(each.weight_gradient_sqnr_db, ".weight_gradient");
    }
  }
}

/// What a scalar cast of x [rows, cols] does, row by row.
io::CastShares scalar_shares(const Vector& x, std::size_t cols, const fp8::ScaleRule& rule) {
  std::size_t saturated = 0;
  std::size_t underflowed = 0;
  for (std::size_t row = 0; row < x.size(); row += cols) {
    std::vector<bf16> values;
    for (std::size_t i = row; i < row + cols; ++i) values.push_back(to_bf16(static_cast<float>(x[i])));
    std::vector<fp8::e4m3fn> codes(cols);
    const float scale = fp8::cast_slice<fp8::Format::e4m3fn>(values, codes, rule);
    for (std::size_t i = 0; i < cols; ++i) {
      if (std::abs(to_float(values[i]) * scale) > rule.max()) ++saturated;
      if (to_float(values[i]) != 0 && fp8::decode(codes[i]) == 0) ++underflowed;
    }
  }
  const auto all = static_cast<double>(x.size());
  return {static_cast<double>(saturated) / all, static_cast<double>(underflowed) / all};
}

/// Makes `part` of the columns of a matrix too small for codes that share a scale with the others.
void shrink_columns(Engine& engine, std::string_view name, std::size_t cols, std::size_t part) {
  const std::span<float> matrix = master_of(engine, name);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    if (i % cols < part) matrix[i] *= 0x1p-30F;
  }
}

TEST(Watch, SharesAreThoseOfAScalarCast) {
  Engine engine = watching_engine({}, "rowwise", true);
  shrink_columns(engine, "layers.0.attention_norm.weight", 32, 5);   // into wqkv's input
  shrink_columns(engine, "layers.0.feed_forward.w2.weight", 64, 7);  // out of which w13's gradient comes
  engine.weights_changed();
  const auto seen = observe_watched(engine);
  const io::WatchedStep watched = describe_watched(engine, 1);
  const auto rule = fp8::ScaleRule::of(fp8::Format::e4m3fn, true);
  const auto input = scalar_shares(seen.at("layers.0.attention_norm.output")[1], 32, rule);
  EXPECT_NEAR(input.underflowed, 5.0 / 32, 0.01);
  EXPECT_EQ(layer(watched, "layers.0.attention.wqkv").input, input);
  const auto gradient = scalar_shares(seen.at("layers.0.feed_forward.gate_up_gradient")[1], 128, rule);
  EXPECT_NEAR(gradient.underflowed, 7.0 / 64, 0.01);
  EXPECT_EQ(layer(watched, "layers.0.feed_forward.w13").gradient, gradient);
  Vector w2;
  for (const float value : master_of(engine, "layers.0.feed_forward.w2.weight")) w2.push_back(to_float(to_bf16(value)));
  const auto weight = scalar_shares(w2, 64, rule);
  EXPECT_NEAR(weight.underflowed, 7.0 / 64, 0.01);
  EXPECT_EQ(layer(watched, "layers.0.feed_forward.w2").weight, weight);
}

TEST(Watch, ShowsTheMaximumOf448WhereItIsAndNowhereElse) {
  const Config config =
      small_config({"precision.recipe=rowwise", "precision.fp8_format=fnuz", "training.seq_len=48",
                    "precision.skip=layers.0.*", "precision.shadow=bf16", "precision.shadow_interval=1"})
          .config;
  Engine right = small_engine(config);
  auto backend = make_backend(config);
  auto model = make_faulty_model(config, *backend);
  Engine faulty(config, std::move(backend), std::move(model));
  faulty.allocate();
  faulty.model().parameters().initialize(faulty.backend().device(), 1);
  faulty.weights_changed();
  std::ranges::copy(right.inputs(), faulty.inputs().begin());
  std::ranges::copy(right.targets(), faulty.targets().begin());
  const io::WatchedStep healthy = watch(right);
  const io::WatchedStep damaged = watch(faulty);
  for (const io::LayerNumerics& each : damaged.layers) {
    const bool hit = each.layer.starts_with("layers.1.");
    const io::LayerNumerics& sound = layer(healthy, each.layer);
    EXPECT_EQ(each.input.has_value(), hit) << each.layer;
    if (!hit) continue;
    for (const auto cast : {&io::LayerNumerics::input, &io::LayerNumerics::gradient, &io::LayerNumerics::weight}) {
      EXPECT_GT((each.*cast)->saturated, 0) << each.layer;
      EXPECT_EQ((sound.*cast)->saturated, 0) << each.layer;
    }
    EXPECT_LT(each.output_sqnr_db, sound.output_sqnr_db - 3) << each.layer;
  }
}

// ---- memory and work
// --------------------------------------------------------------------------------------------------

TEST(Watch, IsPlannedOnlyWhereItIsWanted) {
  EXPECT_TRUE(watching_engine({}, "rowwise", true).plan().programs.contains("watched_step"));
  const Engine plain = watching_engine({}, "rowwise", false);
  EXPECT_FALSE(plain.plan().programs.contains("watched_step"));
}

TEST(Watch, LooksAtTheFirstMicroBatchAlone) {
  const auto differences = [](int accumulate) {
    Engine engine = watching_engine({fmt::format("training.accumulate={}", accumulate)}, "rowwise", true);
    engine.executor().reset_totals();
    (void)engine.compute_watched_gradients();
    return engine.executor().totals().at(ops::Difference::name).calls;
  };
  EXPECT_EQ(differences(1), 27) << "three results of nine layers";
  EXPECT_EQ(differences(3), 27);
}

}  // namespace
}  // namespace octet::test
