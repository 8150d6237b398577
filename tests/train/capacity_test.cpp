// What one GPU holds, against plans of every combination there is and against arithmetic for the published shapes.
#include "train/capacity.h"

#include <gtest/gtest.h>

#include "io/config_fields.h"
#include "train/plan_choices.h"
#include "train/small_engine.h"
#include "train/small_gpu.h"

namespace octet::test {
namespace {

constexpr PlannedRun kOnGpu{PlannedMemory::device, false};

std::size_t planned(const Config& config) {
  return plan_without_workspace(config, kOnGpu).plan().arena_bytes;
}

/// A card that holds exactly so much.
Card card_for(std::size_t bytes) {
  return {"test", kCardReserve + bytes};
}

Config with(Config config, std::string_view key, std::string_view value) {
  find_config_field(key)->set(config, std::string(value));
  return config;
}

Config with(Config config, const BatchShape& shape) {
  config.training.batch_size = shape.batch;
  config.training.seq_len = shape.seq_len;
  return config;
}

Config with(Config config, const FittingPlan& plan) {
  for (const Remedy& remedy : plan.remedies) config = with(config, remedy.key, remedy.value);
  return with(config, plan.shape);
}

/// The small model with sequences long enough that every remedy counts, and nothing remedied yet.
Config roomy(const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all{"precision.recipe=rowwise", "precision.saved_inputs=bf16", "training.seq_len=1024",
                               "model.dim=128", "model.ffn_dim=256"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return small_config(all).config;
}

/// Bit i of `digits` is remedy i; later ones of the same key win.
Config apply(Config config, unsigned digits) {
  for (std::size_t i = 0; i < kRemedies.size(); ++i) {
    if ((digits >> i & 1U) != 0) config = with(config, kRemedies[i].key, kRemedies[i].value);
  }
  return config;
}

TEST(Remedy, EachTakesMemoryAway) {
  const Config config = roomy();
  for (const Remedy& remedy : kRemedies) {
    EXPECT_LT(planned(with(config, remedy.key, remedy.value)), planned(config)) << remedy.key << " " << remedy.value;
  }
}

TEST(Remedy, NoneAddsMemoryToAPublishedShape) {
  for (const char* file : {"configs/llama3_1b.toml", "configs/llama3_8b.toml"}) {
    for (const std::int64_t batch : {1, 4}) {
      const Config config = with(load_config(file).config, {batch, 8192});
      for (const Remedy& remedy : kRemedies) {
        EXPECT_LE(planned(with(config, remedy.key, remedy.value)), planned(config))
            << file << ", batch " << batch << ": " << remedy.key << " " << remedy.value;
      }
    }
  }
}

TEST(Capacity, TheRemedyIsTheLeastDrasticOfAllCombinations) {
  const Config config = roomy();
  constexpr unsigned combinations = 1U << kRemedies.size();
  std::vector<std::size_t> bytes;
  for (unsigned digits = 0; digits < combinations; ++digits) bytes.push_back(planned(apply(config, digits)));
  for (const std::size_t limit : bytes) {
    unsigned least = 0;
    while (bytes[least] > limit) ++least;
    const Capacity capacity = CapacityPlanner(config, false).of(card_for(limit));
    ASSERT_EQ(capacity.fits(), least == 0) << limit;
    if (capacity.fits()) continue;
    ASSERT_TRUE(capacity.remedy) << limit;
    EXPECT_EQ(with(config, *capacity.remedy), apply(config, least)) << limit << " bytes, combination " << least;
    EXPECT_EQ(capacity.remedy->bytes, bytes[least]);
  }
}

TEST(Capacity, ShorterBatchesAreTheLastRemedy) {
  const Config config = roomy({"training.batch_size=8", "training.seq_len=4096"});
  Config all = apply(config, (1U << kRemedies.size()) - 1);
  const auto remedy_for = [&](const BatchShape& shape) {
    return CapacityPlanner(config, false).of(card_for(planned(with(all, shape)))).remedy;
  };
  const auto smaller = remedy_for({3, 4096});
  ASSERT_TRUE(smaller);
  EXPECT_EQ(smaller->shape.batch, 3);
  EXPECT_EQ(smaller->shape.seq_len, 4096);
  const auto shorter = remedy_for({1, 3072});
  ASSERT_TRUE(shorter);
  EXPECT_EQ(shorter->shape.batch, 1);
  EXPECT_EQ(shorter->shape.seq_len, 3072);
  ASSERT_TRUE(remedy_for({1, kFloorSeqLen}));
  EXPECT_FALSE(remedy_for({1, kSeqLenStep})) << "below the floor nothing is proposed";
}

TEST(Capacity, AProposedPlanFitsIndeed) {
  const Config config = roomy({"training.batch_size=8", "training.seq_len=4096"});
  for (std::size_t limit = planned(config); limit > 1000; limit = limit * 3 / 4) {
    const Capacity capacity = CapacityPlanner(config, false).of(card_for(limit));
    if (!capacity.remedy) continue;
    EXPECT_LE(planned(with(config, *capacity.remedy)), limit);
    EXPECT_EQ(planned(with(config, *capacity.remedy)), capacity.remedy->bytes);
  }
}

TEST(Capacity, WhatIsOnAlreadyIsNotProposed) {
  const Config config = apply(roomy(), 0b001111);  // all that changes no dtype of the optimizer
  const Capacity capacity = CapacityPlanner(config, false).of(card_for(planned(config) - 1));
  ASSERT_TRUE(capacity.remedy);
  EXPECT_EQ(capacity.remedy->remedies, (std::vector<Remedy>{{"optimizer.gradients", "bf16"}}));
}

TEST(Capacity, TheLargestBatchFitsAndTheNextDoesNot) {
  const Config config = roomy();
  std::int64_t last = 0;
  for (const std::size_t limit : {planned(with(config, {1, 1024})), planned(with(config, {2, 1024})),
                                  planned(with(config, {11, 1024})) - 1, planned(with(config, {11, 1024}))}) {
    const auto largest = CapacityPlanner(config, false).of(card_for(limit)).largest;
    ASSERT_TRUE(largest);
    EXPECT_EQ(largest->seq_len, 1024);
    EXPECT_LE(planned(with(config, *largest)), limit);
    EXPECT_GT(planned(with(config, {largest->batch + 1, 1024})), limit);
    EXPECT_GE(largest->batch, last);
    last = largest->batch;
  }
  EXPECT_EQ(last, 11);
}

TEST(Capacity, ALengthIsFoundWhereNoBatchFits) {
  const Config config = roomy({"training.seq_len=10000"});
  const auto largest_for = [&](std::size_t limit) {
    return CapacityPlanner(config, false).of(card_for(limit)).largest;
  };
  const std::size_t seven = planned(with(config, {1, 7 * kSeqLenStep}));
  ASSERT_TRUE(largest_for(seven));
  EXPECT_EQ(largest_for(seven)->batch, 1);
  EXPECT_EQ(largest_for(seven)->seq_len, 7 * kSeqLenStep);
  EXPECT_EQ(largest_for(seven - 1)->seq_len, 6 * kSeqLenStep);
  EXPECT_FALSE(largest_for(planned(with(config, {1, kSeqLenStep})) - 1));
}

TEST(Capacity, PlansGrowWithBatchAndLength) {
  for (const char* recompute : {"none", "selective", "full"}) {
    const Config config = with(roomy(), "training.recompute", recompute);
    for (std::int64_t i = 1; i < 12; ++i) {
      EXPECT_LT(planned(with(config, {i, 1024})), planned(with(config, {i + 1, 1024}))) << recompute << " " << i;
      EXPECT_LT(planned(with(config, {1, 1024 * i})), planned(with(config, {1, 1024 * (i + 1)}))) << recompute;
    }
  }
}

/// A GPU computes more of the head at once than a CPU, most where gradients are bf16.
TEST(Capacity, ACardsPlanIsThatOfARunOnIt) {
  for (const char* gradients : {"fp32", "bf16"}) {
    for (const bool kept : {false, true}) {
      const Config config = with(roomy({"model.vocab_size=262144"}), "optimizer.gradients", gradients);
      const std::size_t on_card = CapacityPlanner(config, kept).of(kCards[0]).planned;
      EXPECT_EQ(on_card, plan_on_small_gpu(config, kept).plan().arena_bytes) << gradients << " " << kept;
      EXPECT_GT(on_card, plan_without_workspace(config, {PlannedMemory::host, kept}).plan().arena_bytes);
    }
  }
}

TEST(Capacity, GradientsThatAreKeptAreCounted) {
  const Config config = roomy({"training.batch_size=4"});
  const auto card = card_for(planned(config));
  EXPECT_TRUE(CapacityPlanner(config, false).of(card).fits());
  EXPECT_FALSE(CapacityPlanner(config, true).of(card).fits());
}

struct PublishedShape {
  const char* file;
  std::int64_t parameters;
};

class Published : public testing::TestWithParam<PublishedShape> {};

TEST_P(Published, HasItsParameters) {
  const Config config = load_config(std::string("configs/") + GetParam().file).config;
  EXPECT_EQ(plan_without_workspace(config, kOnGpu).model().parameters().count(), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(Configs, Published,
                         testing::Values(PublishedShape{"llama3_1b.toml", 1'235'814'400},
                                         PublishedShape{"llama3_8b.toml", 8'030'261'248},
                                         PublishedShape{"llama3_70b.toml", 70'553'706'496},
                                         PublishedShape{"llama3_405b.toml", 405'853'388'800},
                                         PublishedShape{"qwen3_0_6b.toml", 596'049'920},
                                         PublishedShape{"qwen3_8b.toml", 8'190'735'360},
                                         PublishedShape{"qwen3_30b_a3b.toml", 30'532'122'624}),
                         [](const auto& each) {
                           const std::string_view file = each.param.file;
                           return std::string(file.substr(0, file.find('.')));
                         });

TEST(Capacity, Llama8B) {
  const Config config = load_config("configs/llama3_8b.toml").config;
  ASSERT_EQ(config.training.seq_len, 8192);
  // Per layer and token, in bytes: x, attention's output and x_mid; queries, keys and values; gate and up in bf16;
  // log-sum-exp of 32 heads and two rstd in fp32. Codes of inputs are made in backward.
  constexpr double by_layer = 3 * 4096 * 2 + 6144 * 2 + 2 * 14336 * 2 + 4 * 32 + 4 * 2;
  constexpr double waiting = 8192.0 * (32 * by_layer + 2 * 4096 * 2);  // and the final norm's input and output
  constexpr double matrices = 32.0 * 4096 * (6144 + 4096 + 3 * 14336);
  constexpr double states = 14 * 8'030'261'248.0 + 2 * matrices;  // and codes of the layers' weights in both layouts
  const Engine engine = plan_without_workspace(config, kOnGpu);
  EXPECT_NEAR(static_cast<double>(saved_for_backward(engine.plan()).bytes), waiting, 0.001 * waiting);
  EXPECT_NEAR(static_cast<double>(engine.plan().persistent_bytes), states, 0.001 * states);

  CapacityPlanner planner(config, false);
  const Capacity h200 = planner.of(kCards[0]);
  EXPECT_EQ(h200.usable, 141'000'000'000U - (2U << 30U));
  EXPECT_GT(static_cast<double>(h200.planned), states + waiting);
  constexpr double gradients = 4 * 8'030'261'248.0;  // all of them, when the last activations are gone
  EXPECT_LT(static_cast<double>(h200.planned), 1.01 * (states + gradients)) << "the rest is backward's own";
  EXPECT_FALSE(h200.fits());
  EXPECT_FALSE(h200.largest) << "states and all gradients, at the end of backward, take 158 GB";
  ASSERT_TRUE(h200.remedy);
  EXPECT_EQ(h200.remedy->shape.batch, 1);
  EXPECT_EQ(h200.remedy->shape.seq_len, 8192);
  EXPECT_EQ(h200.remedy->remedies, (std::vector<Remedy>{{"precision.weight_codes", "per_use"},
                                                        {"training.recompute", "full"},
                                                        {"optimizer.gradients", "bf16"}}));

  const Capacity mi300x = planner.of(kCards[1]);
  EXPECT_TRUE(mi300x.fits());
  ASSERT_TRUE(mi300x.largest);
  EXPECT_EQ(mi300x.largest->batch, 2);
}

TEST(Capacity, GradientsOfSeveralMicroBatchesAreNotProposedInBf16) {
  const auto proposes_it = [](const char* accumulate) {
    const Config config = roomy({accumulate});
    const Capacity capacity = CapacityPlanner(config, false).of(card_for(planned(apply(config, 0b0011111))));
    return capacity.remedy && std::ranges::count(capacity.remedy->remedies, Remedy{"optimizer.gradients", "bf16"}) > 0;
  };
  EXPECT_TRUE(proposes_it("training.accumulate=1"));
  EXPECT_FALSE(proposes_it("training.accumulate=2"));
}

TEST(Capacity, WhatNothingHelpsIsShardedElsewhere) {
  CapacityPlanner planner(load_config("configs/llama3_70b.toml").config, false);
  for (const Card& card : kCards) {
    const Capacity capacity = planner.of(card);
    EXPECT_FALSE(capacity.fits());
    EXPECT_FALSE(capacity.remedy);
    EXPECT_FALSE(capacity.largest);
  }
}

}  // namespace
}  // namespace octet::test
