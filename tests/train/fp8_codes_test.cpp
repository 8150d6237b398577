// The counter that proves a recipe took effect: FP8 codes that products have read.
#include <gtest/gtest.h>

#include "train/small_engine.h"

namespace octet::test {
namespace {

/// Codes that the products of the FP8 layers read in one micro-batch, per product that is in FP8.
struct Codes {
  std::uint64_t forward = 0, dgrad = 0, wgrad = 0;
};

Codes codes_of(const PrecisionPlan& plan) {
  Codes codes;
  for (const LayerChoice& layer : plan.table()) {
    if (!layer.fp8) continue;
    const auto x = static_cast<std::uint64_t>(layer.m * layer.k);
    const auto w = static_cast<std::uint64_t>(layer.n * layer.k);
    const auto dy = static_cast<std::uint64_t>(layer.m * layer.n);
    codes.forward += x + w;
    codes.dgrad += dy + w;
    codes.wgrad += dy + x;
  }
  return codes;
}

std::uint64_t used_in_one_step(Engine& engine) {
  const std::uint64_t before = engine.executor().fp8_codes_used();
  (void)engine.compute_gradients();
  return engine.executor().fp8_codes_used() - before;
}

TEST(Fp8CodesUsed, NoneInBf16) {
  Engine engine = small_engine(small_config({"precision.recipe=bf16"}).config);
  EXPECT_EQ(used_in_one_step(engine), 0U);
}

TEST(Fp8CodesUsed, AllThreeProductsOfEveryLayer) {
  for (const char* recipe : {"tensorwise", "rowwise"}) {
    Engine engine = small_engine(small_config({std::string("precision.recipe=") + recipe}).config);
    const Codes codes = codes_of(engine.model().precision());
    EXPECT_GT(codes.forward, 0U);
    EXPECT_EQ(used_in_one_step(engine), codes.forward + codes.dgrad + codes.wgrad) << recipe;
  }
}

TEST(Fp8CodesUsed, WgradStaysOutInHighPrecision) {
  Engine engine = small_engine(small_config({"precision.recipe=rowwise_hp_wgrad"}).config);
  const Codes codes = codes_of(engine.model().precision());
  EXPECT_EQ(used_in_one_step(engine), codes.forward + codes.dgrad);
}

TEST(Fp8CodesUsed, EveryMicroBatchCounts) {
  Engine engine = small_engine(small_config({"precision.recipe=rowwise", "training.accumulate=3"}).config);
  const Codes codes = codes_of(engine.model().precision());
  EXPECT_EQ(used_in_one_step(engine), 3 * (codes.forward + codes.dgrad + codes.wgrad));
}

}  // namespace
}  // namespace octet::test
