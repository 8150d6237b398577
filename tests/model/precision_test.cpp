// Which layer computes in which precision, and the reason that the printed table gives.
#include "model/precision.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <initializer_list>

#include "core/error.h"

namespace octet::test {
namespace {

PrecisionOptions options(std::string_view recipe) {
  PrecisionOptions options;
  options.recipe = fp8::find_recipe(recipe);
  return options;
}

/// What the plan says of one layer.
LayerChoice choice(const PrecisionOptions& options, std::string_view layer, std::int64_t n, std::int64_t k) {
  PrecisionPlan plan(options);
  const LinearPrecision precision = plan.decide(layer, 128, n, k);
  EXPECT_EQ(plan.table().size(), 1U);
  EXPECT_EQ(precision.is_fp8(), plan.table()[0].fp8);
  EXPECT_EQ(plan.layers_in_fp8(), plan.table()[0].fp8 ? 1 : 0);
  return plan.table()[0];
}

std::string error_of(const PrecisionPlan& plan) {
  try {
    plan.require_effect();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(PrecisionPlan, ARowOfTheTableHoldsTheProductItsPrecisionAndAReason) {
  const LayerChoice row = choice(options("rowwise"), "layers.0.feed_forward.w13", 28672, 4096);
  EXPECT_EQ(row.layer, "layers.0.feed_forward.w13");
  EXPECT_EQ(row.m, 128);
  EXPECT_EQ(row.n, 28672);
  EXPECT_EQ(row.k, 4096);
  EXPECT_TRUE(row.fp8);
  EXPECT_EQ(row.precision, "rowwise e4m3fn");
  EXPECT_EQ(row.reason, "passes the recipe's size rule");
}

TEST(PrecisionPlan, TheFamilyDecidesBothFormats) {
  PrecisionOptions fnuz = options("tensorwise");
  fnuz.family = fp8::FormatFamily::fnuz;
  EXPECT_EQ(choice(fnuz, "w", 4096, 4096).precision, "tensorwise e4m3fnuz");
  PrecisionPlan plan(fnuz);
  const LinearPrecision precision = plan.decide("w", 128, 4096, 4096);
  EXPECT_EQ(precision.rule(fp8::Precision::e4m3).format(), fp8::Format::e4m3fnuz);
  EXPECT_EQ(precision.rule(fp8::Precision::e4m3).max(), 240.0F);
  EXPECT_EQ(precision.rule(fp8::Precision::e5m2).format(), fp8::Format::e5m2fnuz);
}

TEST(PrecisionPlan, TheRecipeDecidesWhetherScalesArePowersOfTwo) {
  PrecisionPlan rowwise(options("rowwise"));
  EXPECT_TRUE(rowwise.decide("w", 128, 4096, 4096).rule(fp8::Precision::e4m3).power_of_two());
  PrecisionPlan tensorwise(options("tensorwise"));
  EXPECT_FALSE(tensorwise.decide("w", 128, 4096, 4096).rule(fp8::Precision::e4m3).power_of_two());
}

TEST(PrecisionPlan, SmallLayersStayInBf16ByTheRecipesOwnRule) {
  const LayerChoice row = choice(options("rowwise"), "w", 2048, 4096);
  EXPECT_FALSE(row.fp8);
  EXPECT_EQ(row.precision, "bf16");
  EXPECT_EQ(row.reason, "N <= 2048");
  EXPECT_EQ(choice(options("tensorwise"), "w", 1024, 4096).reason, "N <= 1024 and K <= 4096");
}

TEST(PrecisionPlan, MinSizeReplacesTheRecipesRule) {
  PrecisionOptions everything = options("rowwise");
  everything.min_size = 0;
  EXPECT_EQ(choice(everything, "w", 64, 64).reason, "precision.min_size");
  EXPECT_TRUE(choice(everything, "w", 64, 64).fp8);
  EXPECT_EQ(choice(everything, "w", 65, 64).reason, "N is not a multiple of 16");
  EXPECT_EQ(choice(everything, "w", 64, 72).reason, "K is not a multiple of 16");
  PrecisionOptions large = options("rowwise");
  large.min_size = 128;
  EXPECT_TRUE(choice(large, "w", 128, 128).fp8);
  EXPECT_EQ(choice(large, "w", 112, 128).reason, "N or K below precision.min_size 128");
  EXPECT_EQ(choice(large, "w", 128, 112).reason, "N or K below precision.min_size 128");
}

TEST(PrecisionPlan, APatternKeepsItsLayersInBf16) {
  PrecisionOptions skipping = options("rowwise");
  skipping.min_size = 0;
  skipping.skip = {"layers.0.*", "*.w2"};
  EXPECT_EQ(choice(skipping, "layers.0.attention.wo", 64, 64).reason, "precision.skip \"layers.0.*\"");
  EXPECT_EQ(choice(skipping, "layers.1.feed_forward.w2", 64, 64).reason, "precision.skip \"*.w2\"");
  EXPECT_TRUE(choice(skipping, "layers.1.attention.wo", 64, 64).fp8);
}

TEST(PrecisionPlan, TheHeadIsBf16UnlessAskedFor) {
  PrecisionPlan plan(options("rowwise"));
  EXPECT_FALSE(plan.decide_head("output", 128, 128256, 4096).is_fp8());
  EXPECT_EQ(plan.table()[0].reason, "precision.head is bf16");
  PrecisionOptions with_head = options("rowwise");
  with_head.fp8_head = true;
  PrecisionPlan head_plan(with_head);
  EXPECT_TRUE(head_plan.decide_head("output", 128, 128256, 4096).is_fp8());
  EXPECT_EQ(head_plan.table()[0].reason, "passes the recipe's size rule");
}

TEST(PrecisionPlan, APatternThatMatchesNoLayerIsAnError) {
  PrecisionOptions skipping = options("rowwise");
  skipping.min_size = 0;
  skipping.skip = {"*.wo", "layer.0.*"};
  PrecisionPlan plan(skipping);
  (void)plan.decide("layers.0.attention.wqkv", 128, 128, 64);
  (void)plan.decide("layers.0.attention.wo", 128, 64, 64);
  EXPECT_EQ(error_of(plan),
            "precision.skip \"layer.0.*\" matches no layer; the layers are called like \"layers.0.attention.wqkv\"");
}

TEST(PrecisionPlan, APatternMayMatchTheHeadAlone) {
  PrecisionOptions skipping = options("rowwise");
  skipping.min_size = 0;
  skipping.skip = {"output"};
  PrecisionPlan plan(skipping);
  (void)plan.decide("layers.0.attention.wo", 128, 64, 64);
  (void)plan.decide_head("output", 128, 256, 64);
  EXPECT_EQ(error_of(plan), "no error");
}

TEST(PrecisionPlan, AnFp8RecipeThatConvertsNothingIsAnError) {
  PrecisionPlan plan(options("rowwise"));
  (void)plan.decide("layers.0.attention.wqkv", 128, 128, 64);
  EXPECT_EQ(error_of(plan),
            "recipe rowwise converts no layer: layers.0.attention.wqkv stays in bf16 because of \"N <= 2048\"; set "
            "precision.min_size = 0 to convert small layers too");
}

/// "fast full full" for forward, dgrad and wgrad: as the table says, which is what a layer gets.
std::string accumulations(const PrecisionOptions& options) {
  PrecisionPlan plan(options);
  const LinearPrecision precision = plan.decide("w", 128, 4096, 4096);
  const auto products = plan.products();
  EXPECT_EQ(precision.recipe->forward.accumulation, products[0].accumulation);
  EXPECT_EQ(precision.recipe->dgrad.accumulation, products[1].accumulation);
  EXPECT_EQ(precision.recipe->wgrad.accumulation, products[2].accumulation);
  return fmt::format("{} {} {}", fp8::name(products[0].accumulation), fp8::name(products[1].accumulation),
                     fp8::name(products[2].accumulation));
}

TEST(PrecisionPlan, AccumulationIsTheRecipesUnlessSaidOtherwise) {
  PrecisionOptions rowwise = options("rowwise");
  EXPECT_EQ(accumulations(rowwise), "fast full full");
  rowwise.accumulation.forward = fp8::Accumulation::full;
  EXPECT_EQ(accumulations(rowwise), "full full full");
  rowwise.accumulation.dgrad = fp8::Accumulation::fast;
  EXPECT_EQ(accumulations(rowwise), "full fast full");
  rowwise.accumulation.wgrad = fp8::Accumulation::fast;
  EXPECT_EQ(accumulations(rowwise), "full fast fast");
  EXPECT_EQ(fp8::find_recipe("rowwise")->forward.accumulation, fp8::Accumulation::fast) << "a recipe is constant";
}

TEST(PrecisionPlan, LayersInBf16HaveNoAccumulationToChoose) {
  PrecisionOptions everything_fast = options("rowwise");
  everything_fast.accumulation = {fp8::Accumulation::fast, fp8::Accumulation::fast, fp8::Accumulation::fast};
  PrecisionPlan plan(everything_fast);
  const LinearPrecision small = plan.decide("w", 128, 64, 64);
  EXPECT_FALSE(small.is_fp8());
  EXPECT_EQ(small.recipe->forward.accumulation, fp8::Accumulation::full);
}

TEST(PrecisionPlan, FastAccumulationOfAProductInBf16IsAnError) {
  PrecisionOptions hp_wgrad = options("rowwise_hp_wgrad");
  hp_wgrad.accumulation.wgrad = fp8::Accumulation::full;
  PrecisionPlan full(hp_wgrad);
  (void)full.decide("w", 128, 4096, 4096);
  EXPECT_EQ(error_of(full), "no error");
  hp_wgrad.accumulation.wgrad = fp8::Accumulation::fast;
  PrecisionPlan fast(hp_wgrad);
  (void)fast.decide("w", 128, 4096, 4096);
  EXPECT_EQ(error_of(fast),
            "precision.accumulation_wgrad = \"fast\" has no effect: recipe rowwise_hp_wgrad computes wgrad in bf16, "
            "whose sums are always full; set it to \"recipe\"");
}

TEST(PrecisionPlan, Bf16LeavesTheKeysOfFp8Alone) {
  PrecisionOptions bf16 = options("bf16");
  bf16.accumulation = {fp8::Accumulation::fast, fp8::Accumulation::fast, fp8::Accumulation::fast};
  PrecisionPlan plan(bf16);
  (void)plan.decide("w", 128, 4096, 4096);
  EXPECT_EQ(error_of(plan), "no error");
  EXPECT_EQ(accumulations(bf16), "full full full");
}

TEST(PrecisionPlan, ProductsNameTheirOperands) {
  PrecisionOptions fnuz = options("tensorwise");
  fnuz.family = fp8::FormatFamily::fnuz;
  const auto tensorwise = PrecisionPlan(fnuz).products();
  EXPECT_EQ(tensorwise[0].product, "forward");
  EXPECT_EQ(tensorwise[0].left, "X e4m3fnuz one scale");
  EXPECT_EQ(tensorwise[0].right, "W e4m3fnuz one scale");
  EXPECT_EQ(tensorwise[1].product, "dgrad");
  EXPECT_EQ(tensorwise[1].left, "dY e5m2fnuz one scale");
  const auto hp_wgrad = PrecisionPlan(options("rowwise_hp_wgrad")).products();
  EXPECT_EQ(hp_wgrad[1].left, "dY e4m3fn row scales");
  EXPECT_EQ(hp_wgrad[1].right, "W e4m3fn one scale");
  EXPECT_EQ(hp_wgrad[2].product, "wgrad");
  EXPECT_EQ(hp_wgrad[2].left, "dY bf16");
  EXPECT_EQ(hp_wgrad[2].right, "X bf16");
}

TEST(PrecisionPlan, Bf16ConvertsNothingAndThatIsNoError) {
  PrecisionPlan plan(options("bf16"));
  EXPECT_FALSE(plan.decide("layers.0.attention.wqkv", 128, 8192, 8192).is_fp8());
  EXPECT_EQ(plan.table()[0].reason, "the recipe is bf16");
  EXPECT_EQ(error_of(plan), "no error");
}

}  // namespace
}  // namespace octet::test
