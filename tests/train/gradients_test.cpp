// Gradients that live from backward to their update, and gradients in bf16.
#include <gtest/gtest.h>

#include "train/plan_choices.h"
#include "train/trained.h"

namespace octet::test {
namespace {

std::vector<std::string> with_recipe(std::vector<std::string> overrides, const std::string& recipe) {
  overrides.insert(overrides.begin(), {"precision.recipe=" + recipe, "training.seq_len=48"});
  return overrides;
}

Engine engine_with(const std::vector<std::string>& overrides, const std::string& recipe, bool keeps_gradients) {
  return small_engine(small_config(with_recipe(overrides, recipe)).config, keeps_gradients);
}

bool has_gradients(const Engine& engine) {
  const auto& slabs = engine.model().parameters().slabs();
  return std::ranges::any_of(slabs, [](const Slab& slab) { return !slab.gradients().empty(); });
}

std::size_t bytes_in_use(const Engine& engine) {
  return engine.executor().memory().bytes_in_use();
}

// ---- lives ----------------------------------------------------------------------------------------------------------

class GradientLives : public testing::TestWithParam<const char*> {
 protected:
  /// Of losses, norms, gradients with what lies between them, and parameters, over three steps.
  void expect_same_bits(const std::vector<std::string>& overrides) const {
    Engine kept = engine_with(overrides, GetParam(), true);
    Engine passing = engine_with(overrides, GetParam(), false);
    EXPECT_EQ(train(kept), train(passing)) << fmt::format("{}", fmt::join(overrides, " "));
    EXPECT_EQ(passing.measured_peak(), passing.plan().arena_bytes) << "the plan is exact";
  }
};

TEST_P(GradientLives, ChangeNoBit) {
  expect_same_bits({});
  expect_same_bits({"optimizer.gradients=bf16", "optimizer.parameters=bf16", "optimizer.moments=bf16"});
  expect_same_bits({"model.tied_embeddings=true"});
  expect_same_bits({"training.recompute=full", "precision.weight_codes=per_use"});
  if (std::string_view(GetParam()) != "bf16") expect_same_bits({"precision.head=fp8", "model.tied_embeddings=true"});
}

TEST_P(GradientLives, ChangeNoBitOfAWatchedStep) {
  const std::vector<std::string> watched{"precision.shadow=bf16", "precision.shadow_interval=1",
                                         "optimizer.gradients=bf16"};
  const auto watch_the_second = [](Engine& engine, int step) {
    return step == 2 ? engine.compute_watched_gradients() : engine.compute_gradients();
  };
  Engine kept = engine_with(watched, GetParam(), true);
  Engine passing = engine_with(watched, GetParam(), false);
  EXPECT_EQ(train_with(kept, watch_the_second), train_with(passing, watch_the_second));
  EXPECT_EQ(kept.shadow().loss_sum(), passing.shadow().loss_sum());
  for (std::size_t i = 0; i < kept.shadow().layers().size(); ++i) {
    const auto sqnr = [i](const Engine& engine) {
      return engine.shadow().layers()[i].sqnr_db(LayerResult::weight_gradient);
    };
    EXPECT_EQ(sqnr(kept), sqnr(passing)) << kept.shadow().layers()[i].name();
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, GradientLives, testing::Values("bf16", "rowwise", "rowwise_hp_wgrad"),
                         [](const auto& each) { return std::string(each.param); });

TEST(GradientLife, EndsWithTheUpdate) {
  Engine engine = engine_with({}, "rowwise", false);
  const std::size_t at_rest = bytes_in_use(engine);
  EXPECT_FALSE(has_gradients(engine));
  const double norm = engine.compute_gradients().grad_norm;
  EXPECT_TRUE(has_gradients(engine));
  EXPECT_GT(bytes_in_use(engine), at_rest);
  engine.update(1, 1e-3, norm);
  EXPECT_FALSE(has_gradients(engine));
  EXPECT_EQ(bytes_in_use(engine), at_rest);
}

TEST(GradientLife, IsTheRunWhereMicroBatchesAddOrSomeoneKeepsThem) {
  const auto lives_on = [](const std::vector<std::string>& overrides, bool keeps_gradients) {
    Engine engine = engine_with(overrides, "rowwise", keeps_gradients);
    engine.update(1, 1e-3, engine.compute_gradients().grad_norm);
    return has_gradients(engine);
  };
  EXPECT_TRUE(lives_on({"training.accumulate=2"}, false));
  EXPECT_TRUE(lives_on({}, true));
  EXPECT_FALSE(lives_on({}, false));
}

TEST(GradientLife, AnUpdateWithoutGradientsIsABug) {
  Engine engine = engine_with({}, "rowwise", false);
  EXPECT_THROW(engine.update(1, 1e-3, 1), std::exception);
}

/// Steps that are left out, in every way there is, leave nothing behind.
TEST(GradientLife, ADiscardedStepLeavesNoTrace) {
  const std::vector<std::string> overrides{"precision.shadow=bf16", "precision.shadow_interval=1",
                                           "data.validation=v.tok"};
  Engine plain = engine_with(overrides, "rowwise", false);
  Engine other = engine_with(overrides, "rowwise", false);
  const std::size_t at_rest = bytes_in_use(other);
  const auto after_others = [&](Engine& engine, int step) {
    (void)engine.compute_gradients();
    engine.discard();
    EXPECT_EQ(bytes_in_use(engine), at_rest);
    EXPECT_GT(engine.validate(), 0) << "nothing is open in step " << step;
    (void)engine.compute_watched_gradients();  // left out by the step that follows
    return engine.compute_gradients();
  };
  EXPECT_EQ(train(plain), train_with(other, after_others));
  EXPECT_EQ(bytes_in_use(other), at_rest);
}

TEST(GradientLife, AnEngineMayEndInsideAStep) {
  Engine engine = engine_with({}, "rowwise", false);
  (void)engine.compute_gradients();
}

TEST(GradientLife, TakesLessMemory) {
  const auto gradient_bytes = [](const Engine& engine) {
    std::size_t bytes = 0;
    for (const PlannedPiece& each : engine.plan().persistent) {
      if (each.memory_class == MemoryClass::gradients) bytes += each.bytes;
    }
    return bytes;
  };
  const Engine kept = engine_with({}, "rowwise", true);
  const Engine passing = engine_with({}, "rowwise", false);
  EXPECT_EQ(gradient_bytes(passing), 0U);
  EXPECT_GE(gradient_bytes(kept), static_cast<std::size_t>(kept.model().parameters().count()) * 4);
  EXPECT_LT(passing.plan().arena_bytes, kept.plan().arena_bytes);
}

// ---- bf16 -----------------------------------------------------------------------------------------------------------

/// A gradient as bytes of bf16, rounded where it is fp32.
std::vector<std::uint16_t> rounded(const Tensor& gradient) {
  std::vector<std::uint16_t> bits;
  for (std::int64_t i = 0; i < gradient.numel(); ++i) {
    bits.push_back(gradient.dtype() == DType::bf16 ? gradient.ptr<bf16>()[i].bits
                                                   : to_bf16(gradient.ptr<float>()[i]).bits);
  }
  return bits;
}

TEST(GradientsInBf16, AreTheFp32OnesRoundedWhereOneOpWritesThem) {
  for (const char* recipe : {"bf16", "tensorwise", "rowwise", "rowwise_hp_wgrad"}) {
    Engine fp32 = engine_with({}, recipe, false);
    Engine bf16_ones = engine_with({"optimizer.gradients=bf16"}, recipe, false);
    EXPECT_EQ(fp32.compute_gradients().loss, bf16_ones.compute_gradients().loss);
    for (std::size_t s = 0; s < fp32.model().parameters().slabs().size(); ++s) {
      const Slab& slab = fp32.model().parameters().slabs()[s];
      const Slab& other = bf16_ones.model().parameters().slabs()[s];
      for (std::size_t i = 0; i < slab.parameters().size(); ++i) {
        const std::string& name = slab.parameters()[i].name;
        EXPECT_EQ(other.gradient(i).dtype(), name.ends_with("norm.weight") ? DType::f32 : DType::bf16) << name;
        EXPECT_EQ(rounded(slab.gradient(i)), rounded(other.gradient(i))) << recipe << " " << name;
      }
    }
  }
}

TEST(GradientsInBf16, OfTiedEmbeddingsStayFp32) {
  const Engine engine = engine_with({"optimizer.gradients=bf16", "model.tied_embeddings=true"}, "rowwise", false);
  EXPECT_EQ(engine.model().parameters().slabs().front().gradient(0).dtype(), DType::f32);
}

TEST(GradientsInBf16, OfAHeadInSeveralChunksStayFp32) {
  const auto head_dtype = [](const char* vocab) {
    const Config config = small_config({"optimizer.gradients=bf16", "training.batch_size=64", vocab}).config;
    return plan_without_workspace(config, {}).model().parameters().slabs().back().gradient(0).dtype();
  };
  EXPECT_EQ(head_dtype("model.vocab_size=65536"), DType::bf16) << "1024 rows of 128 KiB are one chunk";
  EXPECT_EQ(head_dtype("model.vocab_size=1048576"), DType::f32) << "sixteen chunks";
}

TEST(GradientElements, AreWrittenOnceInMatricesAndSummedInGains) {
  const Engine engine = plan_without_workspace(small_config({"optimizer.gradients=bf16"}).config, {});
  const GradientElements elements = gradient_elements(engine.model().parameters());
  EXPECT_EQ(elements.summed, 5 * 32) << "five gains";
  EXPECT_EQ(elements.written_once + elements.summed, engine.model().parameters().count());
}

}  // namespace
}  // namespace octet::test
