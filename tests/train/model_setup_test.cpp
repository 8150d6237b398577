// What a configuration asks of a device: its FP8 format, and the maximum that goes with it.
#include "train/model_setup.h"

#include <gtest/gtest.h>

#include <tuple>

namespace octet {
namespace {

/// A device that computes in one family alone, as GPUs do.
class OneFamilyDevice final : public ops::Device {
 public:
  explicit OneFamilyDevice(fp8::FormatFamily family) : family_(family) {}
  [[nodiscard]] std::string description() const override { return "one family"; }
  [[nodiscard]] std::vector<fp8::FormatFamily> families() const override { return {family_}; }
  [[nodiscard]] ArenaAllocator allocator() override { return {}; }

 private:
  fp8::FormatFamily family_;
};

ops::Backend backend_of(fp8::FormatFamily family) {
  return {"gpu", std::make_unique<OneFamilyDevice>(family), ops::OpTable{}};
}

Config asking_for(Config::Fp8Format format) {
  Config config;
  config.precision.fp8_format = format;
  return config;
}

std::string refusal_of(Config::Fp8Format format, fp8::FormatFamily family) {
  try {
    (void)choose_family(asking_for(format), backend_of(family));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(ChooseFamily, AutomaticIsTheDevicesOwn) {
  for (const auto family : {fp8::FormatFamily::ocp, fp8::FormatFamily::fnuz}) {
    EXPECT_EQ(choose_family(asking_for(Config::Fp8Format::automatic), backend_of(family)), family);
  }
}

TEST(ChooseFamily, WhatTheDeviceLacksIsRefusedNamingBoth) {
  EXPECT_EQ(refusal_of(Config::Fp8Format::fnuz, fp8::FormatFamily::ocp),
            "precision.fp8_format = \"fnuz\" asks for e4m3fnuz, but device gpu computes in e4m3fn: use \"auto\"");
  EXPECT_EQ(refusal_of(Config::Fp8Format::ocp, fp8::FormatFamily::fnuz),
            "precision.fp8_format = \"ocp\" asks for e4m3fn, but device gpu computes in e4m3fnuz: use \"auto\"");
  EXPECT_EQ(refusal_of(Config::Fp8Format::ocp, fp8::FormatFamily::ocp), "");
}

TEST(PrecisionOptions, TakeTheAccumulationOfEachProduct) {
  Config config;
  config.precision.accumulation_forward = Config::Accumulation::full;
  config.precision.accumulation_wgrad = Config::Accumulation::fast;
  const AccumulationOverrides overrides = precision_options(config, fp8::FormatFamily::ocp).accumulation;
  EXPECT_EQ(overrides.forward, fp8::Accumulation::full);
  EXPECT_EQ(overrides.dgrad, std::nullopt);
  EXPECT_EQ(overrides.wgrad, fp8::Accumulation::fast);
}

TEST(CheckFp8Max, OnlyTheFormatsOwnMaximumPasses) {
  Config config;
  for (const auto& [maximum, ocp, fnuz] :
       {std::tuple(0.0, true, true), std::tuple(448.0, true, false), std::tuple(240.0, false, true)}) {
    config.precision.fp8_max = maximum;
    const auto passes = [&](fp8::FormatFamily family) {
      try {
        check_fp8_max(config, family);
        return true;
      } catch (const UserError&) {
        return false;
      }
    };
    EXPECT_EQ(passes(fp8::FormatFamily::ocp), ocp) << maximum;
    EXPECT_EQ(passes(fp8::FormatFamily::fnuz), fnuz) << maximum;
  }
}

TEST(MissingOps, AreAnErrorThatNamesTheOp) {
  const ops::Backend backend = backend_of(fp8::FormatFamily::ocp);
  EXPECT_FALSE(backend.supports<ops::Gemm>());
  EXPECT_THROW(backend.run(ops::Zero{}), Failure);
  Memory planner;
  ops::Executor plan(backend, planner);
  EXPECT_THROW(plan(ops::Zero{}), Failure);  // before any step runs
}

}  // namespace
}  // namespace octet
