// What a plan says about its choices, against sums made by hand.
#include "train/plan_choices.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/small_engine.h"

namespace octet::test {
namespace {

// The small model: two layers, dim D, feed-forward F, wqkv of C columns, T tokens in a micro-batch of two sequences.
constexpr std::size_t kLayers = 2, kD = 32, kF = 64, kC = 64, kT = 32, kHeads = 2;

/// Bytes of a piece of memory as the arena counts them.
constexpr std::size_t piece(std::size_t bytes) {
  return (bytes + Memory::kAlignment - 1) / Memory::kAlignment * Memory::kAlignment;
}

/// Column codes of an input [T, cols]: bytes, a scale and a bf16 maximum per column.
constexpr std::size_t column_codes(std::size_t cols) {
  return piece(cols * kT) + piece(cols * 4) + piece(cols * 2);
}

/// What a layer keeps in any recipe: x, x_mid, qkv, attention's output and log-sum-exp, gate and up, both norms' rstd.
constexpr std::size_t kKeptByLayer =
    3 * piece(kT * kD * 2) + piece(kT * kC * 2) + piece(kT * kHeads * 4) + piece(kT * 2 * kF * 2) + 2 * piece(kT * 4);
/// What the final norm keeps: its input, its output, rstd.
constexpr std::size_t kKeptByEnd = 2 * piece(kT * kD * 2) + piece(kT * 4);
/// The inputs of wqkv, w13 and w2 in bf16; that of wo is attention's output.
constexpr std::size_t kInputsInBf16 = 2 * piece(kT * kD * 2) + piece(kT * kF * 2);

SavedForBackward saved_with(const std::vector<std::string>& overrides) {
  return saved_for_backward(plan_without_workspace(small_config(overrides).config, {}).plan());
}

TEST(SavedForBackward, IsWhatTheLayersKeep) {
  const SavedForBackward bf16 = saved_with({"precision.recipe=bf16"});
  EXPECT_EQ(bf16.bytes, kLayers * (kKeptByLayer + kInputsInBf16) + kKeptByEnd);
  EXPECT_EQ(bf16.codes, 0U);

  const std::size_t codes = 2 * column_codes(kD) + column_codes(kF) + piece(kD * 2);  // wo keeps its maxima
  const SavedForBackward rowwise = saved_with({"precision.recipe=rowwise"});
  EXPECT_EQ(rowwise.bytes, kLayers * (kKeptByLayer + codes) + kKeptByEnd);
  EXPECT_EQ(rowwise.codes, kLayers * codes);
}

TEST(SavedForBackward, IsLessWithMoreRecompute) {
  const std::size_t none = saved_with({"training.recompute=none"}).bytes;
  const std::size_t selective = saved_with({"training.recompute=selective"}).bytes;
  const std::size_t full = saved_with({"training.recompute=full"}).bytes;
  EXPECT_LT(selective, none);
  EXPECT_LT(full, selective);
}

TEST(PlanChoices, CodesOfInputsSaveWhatTheyDoNotTake) {
  const PlanChoices choices = weigh_choices(small_config({"precision.recipe=rowwise"}).config, {});
  // Maxima wait in either form: wgrad makes the codes under them.
  const std::size_t codes = 2 * column_codes(kD) + column_codes(kF) - 2 * piece(kD * 2) - piece(kF * 2);
  EXPECT_EQ(choices.codes_save, kLayers * (kInputsInBf16 - codes));
  EXPECT_EQ(
      weigh_choices(small_config({"precision.recipe=rowwise", "precision.saved_inputs=bf16"}).config, {}).codes_save,
      choices.codes_save)
      << "the comparison does not depend on the setting in use";
  EXPECT_EQ(weigh_choices(small_config({"precision.recipe=rowwise_hp_wgrad"}).config, {}).codes_save, 0U)
      << "wgrad reads bf16";
}

TEST(PlanChoices, WeightCodesPerUseReadWeightsAgain) {
  constexpr double accumulate = 3;
  const Config config = small_config({"precision.recipe=rowwise", "training.accumulate=3"}).config;
  double per_use = 0;
  double cached = 0;
  for (const auto& [n, k] : {std::pair{kC, kD}, {kD, kD}, {2 * kF, kD}, {kD, kF}}) {
    const auto elements = static_cast<double>(n * k);
    const auto maxima = static_cast<double>(2 * (n + k));
    per_use += accumulate * 2 * (elements * (2 + 1) + maxima);  // once for each of two products
    cached += elements * (2 + 2) + maxima;                      // both layouts at once, each step
  }
  const PlanChoices choices = weigh_choices(config, {});
  EXPECT_EQ(choices.per_use_moves, kLayers * (per_use - cached));
  EXPECT_GT(choices.per_use_saves, 0U);
  EXPECT_EQ(weigh_choices(small_config({"precision.recipe=bf16"}).config, {}).per_use_saves, 0U);
}

TEST(PlanChoices, FullRecomputeRepeatsThreeOfFourProductsAndAttention) {
  const Config config = small_config({"precision.recipe=rowwise", "training.accumulate=2"}).config;
  const PlanChoices choices = weigh_choices(config, {});
  ASSERT_EQ(choices.recompute.size(), 2U) << "without recompute, both settings are told";
  const RecomputeCost& full = choices.recompute[1];
  EXPECT_EQ(full.recompute, Config::Recompute::full);
  constexpr double sequence = 16, micro_batches = 2, sequences = 2;
  const double products = 2.0 * kT * kD * (kC + kD + 2 * kF);
  const double attention = 2 * sequences * kD * sequence * (sequence + 1);  // two products over the causal half
  const double repeated = micro_batches * kLayers * (products + attention);
  EXPECT_GT(full.added.flops, repeated);
  EXPECT_LT(full.added.flops, 1.2 * repeated) << "norms, rotation and activation are small beside the products";
  EXPECT_GT(full.saved, choices.recompute[0].saved);
  EXPECT_GT(full.flops_share, choices.recompute[0].flops_share);

  Config recomputing = config;
  recomputing.training.recompute = Config::Recompute::full;
  const PlanChoices on = weigh_choices(recomputing, {});
  ASSERT_EQ(on.recompute.size(), 1U) << "with recompute, its own cost is told";
  EXPECT_EQ(on.recompute[0].saved, full.saved);
  EXPECT_EQ(on.recompute[0].flops_share, full.flops_share);
}

TEST(PlannedWork, IsWhatAStepDoes) {
  for (const char* weight_codes : {"cached", "per_use"}) {
    const Config config = small_config({"precision.recipe=rowwise", "training.accumulate=3",
                                        fmt::format("precision.weight_codes={}", weight_codes)})
                              .config;
    Engine engine = small_engine(config);
    const double planned = engine.planned_work().flops;
    engine.executor().reset_totals();
    const StepOutcome outcome = engine.compute_gradients();
    engine.update(1, 1e-3, outcome.grad_norm);
    double done = 0;
    for (const auto& [op, totals] : engine.executor().totals()) done += totals.flops;
    EXPECT_DOUBLE_EQ(planned, done) << weight_codes;
  }
}

TEST(ParameterBytes, AreWhatTheArenaHolds) {
  for (const char* parameters : {"fp32", "bf16"}) {
    for (const char* moments : {"fp32", "bf16"}) {
      const Config config = small_config({"model.dim=256", "model.ffn_dim=512", "precision.recipe=bf16",
                                          fmt::format("optimizer.parameters={}", parameters),
                                          fmt::format("optimizer.moments={}", moments)})
                                .config;
      const Engine engine = plan_without_workspace(config, {});
      double held = 0;
      for (const PlannedPiece& each : engine.plan().persistent) {
        if (each.memory_class != MemoryClass::workspace && each.name != "rope_table") {
          held += static_cast<double>(each.bytes);
        }
      }
      const double per_parameter = held / static_cast<double>(engine.model().parameters().count());
      EXPECT_NEAR(per_parameter, static_cast<double>(parameter_bytes(engine.storage()).sum()), 1e-2)
          << parameters << " parameters, " << moments << " moments";
    }
  }
}

TEST(ParameterGroupSizes, CountEveryParameterOnce) {
  const auto sizes_with = [](const std::string& groups) {
    const Config config = small_config({"optimizer.groups=" + groups}).config;
    const Engine engine = plan_without_workspace(config, {});
    auto sizes = parameter_group_sizes(config, engine.model());
    std::int64_t elements = 0;
    for (const ParameterGroupSize& size : sizes) elements += size.elements;
    EXPECT_EQ(elements, engine.model().parameters().count());
    return sizes;
  };
  const auto usual = sizes_with("[\"*norm.weight: weight_decay=0\"]");
  ASSERT_EQ(usual.size(), 2U);
  EXPECT_EQ(usual[0].parameters, 10) << "four matrices in each of two layers, embedding, head";
  EXPECT_EQ(usual[0].group.weight_decay, 0.1);
  EXPECT_EQ(usual[1].parameters, 5) << "two gains in each of two layers, one at the end";
  EXPECT_EQ(usual[1].elements, 5 * static_cast<std::int64_t>(kD));
  EXPECT_EQ(usual[1].group.weight_decay, 0);

  const auto three = sizes_with("[\"*norm.weight: weight_decay=0\", \"tok_embeddings.*: lr_scale=0.5\"]");
  ASSERT_EQ(three.size(), 3U);
  EXPECT_EQ(three[0].parameters, 1);
  EXPECT_EQ(three[0].group.lr_scale, 0.5);
  EXPECT_EQ(sizes_with("[]").size(), 1U);
}

}  // namespace
}  // namespace octet::test
