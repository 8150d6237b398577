// One poisoned number is found where it first shows.
#include "train/non_finite.h"

#include <gtest/gtest.h>

#include <limits>

#include "train/small_engine.h"

namespace octet::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

class FirstNonFinite : public testing::TestWithParam<const char*> {
 protected:
  /// What is found after master weight `index` of parameter `name` was set to `value`.
  std::string after(std::string_view name, std::size_t index, float value) {
    master_of(engine_, name)[index] = value;
    return found();
  }
  std::string found() {
    engine_.weights_changed();
    EXPECT_FALSE(engine_.compute_gradients().finite());
    return find_first_non_finite(engine_);
  }

  Engine engine_ = small_engine(small_config({std::string("precision.recipe=") + GetParam()}).config);
};
INSTANTIATE_TEST_SUITE_P(NonFinite, FirstNonFinite, testing::Values("bf16", "rowwise"),
                         [](const auto& recipe) { return std::string(recipe.param); });

TEST_P(FirstNonFinite, NanInAWeight) {
  EXPECT_EQ(after("layers.1.attention.wo.weight", 3 * 32 + 5, kNan), "layers.1.attention.wo.weight [row 3, column 5]");
}

TEST_P(FirstNonFinite, InfInTheGainOfANorm) {
  EXPECT_EQ(after("layers.0.ffn_norm.weight", 7, kInf), "layers.0.ffn_norm.weight [row 0, column 7]");
}

TEST_P(FirstNonFinite, TheEarlierOfTwo) {
  master_of(engine_, "norm.weight")[1] = kNan;
  EXPECT_EQ(after("layers.0.feed_forward.w2.weight", 64 + 2, kInf),
            "layers.0.feed_forward.w2.weight [row 1, column 2]");
}

/// Weights are finite and so is the gain, but their product exceeds bf16.
TEST_P(FirstNonFinite, OverflowInAnActivation) {
  std::ranges::fill(master_of(engine_, "layers.1.attention_norm.weight"), 3e38F);
  EXPECT_TRUE(found().starts_with("layers.1.attention_norm.output [row "));
}

TEST_P(FirstNonFinite, AccusesNoTensorOfAHealthyModel) {
  EXPECT_TRUE(engine_.compute_gradients().finite());
  EXPECT_TRUE(find_first_non_finite(engine_).starts_with("the norm of gradients"));
}

}  // namespace
}  // namespace octet::test
