// Training Qwen3, dense and with experts: what waits for backward and how a step is cut changes no bit, the plan is
// exact, training learns, and what is not there is refused by name.
#include <gtest/gtest.h>

#include "io/scratch.h"
#include "train/small_engine.h"
#include "train/trained.h"

namespace octet::test {
namespace {

/// Heads that together are wider than the stream.
LoadedConfig small_qwen3(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), {"model.family=qwen3", "model.head_dim=32", "model.tied_embeddings=true"});
  return small_config(overrides);
}

LoadedConfig small_qwen3_moe(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), {"model.family=qwen3_moe", "model.head_dim=32", "model.moe.dense_layers=1",
                                       "model.moe.ffn_dim=32", "model.moe.experts=4", "model.moe.top_k=2"});
  return small_config(overrides);
}

struct Case {
  const char* name;
  LoadedConfig (*config)(std::vector<std::string>);
  const char* recipe;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

class Qwen3Saving : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static Engine engine_with(std::vector<std::string> overrides) {
    overrides.push_back(fmt::format("precision.recipe={}", GetParam().recipe));
    return small_engine(GetParam().config(std::move(overrides)).config);
  }

  void expect_same_bits(const std::vector<std::string>& overrides) const {
    Engine other = engine_with(overrides);
    EXPECT_EQ(plain_, train(other)) << fmt::format("{}", fmt::join(overrides, " "));
    EXPECT_EQ(other.measured_peak(), other.plan().arena_bytes) << "the plan is exact";
  }

 private:
  Trained plain_ = [] {
    Engine engine = engine_with({});
    return train(engine);
  }();
};

TEST_P(Qwen3Saving, InputsAndWeightCodes) {
  expect_same_bits({"precision.saved_inputs=bf16"});
  expect_same_bits({"precision.weight_codes=per_use", "runtime.threads=1"});
}

TEST_P(Qwen3Saving, Recompute) {
  for (const char* op : {"norm", "qkv", "attention", "gate_up", "swiglu"}) {
    expect_same_bits({"training.recompute=selective", fmt::format("training.recompute_ops=[\"{}\"]", op)});
  }
  expect_same_bits({"training.recompute=selective", "training.recompute_ops=[\"qkv\", \"attention\"]"});
  expect_same_bits({"training.recompute=full", "precision.saved_inputs=bf16"});
}

TEST_P(Qwen3Saving, Learns) {
  Engine engine = engine_with({"training.accumulate=2"});
  const double first = engine.compute_gradients().loss;
  for (int step = 1; step <= 8; ++step) engine.update(step, 1e-2, engine.compute_gradients().grad_norm);
  EXPECT_LT(engine.compute_gradients().loss, first - 1);
}

INSTANTIATE_TEST_SUITE_P(Models, Qwen3Saving,
                         testing::Values(Case{"dense_bf16", small_qwen3, "bf16"},
                                         Case{"dense_rowwise", small_qwen3, "rowwise"},
                                         Case{"dense_tensorwise", small_qwen3, "tensorwise"},
                                         Case{"experts_bf16", small_qwen3_moe, "bf16"},
                                         Case{"experts_rowwise", small_qwen3_moe, "rowwise"}),
                         [](const auto& each) { return std::string(each.param.name); });

/// Normed heads wait once: as what wqkv has made, not as what attention reads of it as well.
TEST(Qwen3Memory, NormedHeadsWaitOnce) {
  const auto waiting = [](const char* family) {
    const std::string is = fmt::format("model.family={}", family);
    const std::vector<std::string> overrides{is, "model.head_dim=512", "model.n_layers=4", "training.seq_len=64"};
    const Engine engine = small_engine(small_config(overrides).config);
    return engine.plan().at_peak().at(MemoryClass::activations);
  };
  const std::size_t qkv = 2 * 64 * 4 * 512 * sizeof(bf16);  // of a layer: two sequences, two + two heads
  EXPECT_LT(waiting("qwen3"), waiting("llama3") + 2 * qkv) << "four more would wait if both did";
}

TEST(Qwen3Parameters, GainsOfHeadsStartAtOneAndAreNotDecayed) {
  Engine engine = small_engine(small_qwen3({}).config);
  for (const float gain : master_of(engine, "layers.1.attention.qk_norm.weight")) EXPECT_EQ(gain, 1);
  const Config config = small_qwen3({}).config;
  EXPECT_EQ(config.optimizer.groups.front(), "*norm.weight: weight_decay=0");
}

TEST(Qwen3, WhatTheMixtureLacksIsRefusedByName) {
  const Config watched = small_qwen3_moe({"precision.shadow=bf16", "precision.shadow_interval=1"}).config;
  const auto backend = make_backend(watched);
  EXPECT_TRUE(contains(user_error([&] { (void)make_model(watched, *backend); }),
                       "precision.shadow = \"bf16\" is not there yet for model.family = \"qwen3_moe\""));
}

}  // namespace
}  // namespace octet::test
