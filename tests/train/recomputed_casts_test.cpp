// Where a cast makes its input again instead of reading it, a step leaves the bits of one that stores and reads it, and
// whoever looks at the values finds them.
#include <gtest/gtest.h>

#include <map>

#include "fp8/cast.h"
#include "train/recording_backend.h"
#include "train/trained.h"

namespace octet::test {
namespace {

Config rowwise(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), {"precision.recipe=rowwise", "training.seq_len=48", "runtime.graphs=off"});
  return small_config(overrides).config;
}

/// On a device that stands for a GPU; the CPU's own casts read.
Engine recomputing_engine(const std::vector<std::string>& overrides) {
  return small_engine(rowwise(overrides), make_recording_backend());
}

TEST(RecomputedCasts, LeaveTheBitsOfCastsThatRead) {
  for (const std::vector<std::string>& overrides : {std::vector<std::string>{},
                                                    {"precision.fp8_format=fnuz"},
                                                    {"training.accumulate=2"},
                                                    {"training.recompute=selective"},
                                                    {"training.recompute=full", "precision.saved_inputs=bf16"},
                                                    {"precision.skip=layers.0.*"}}) {
    Engine reading = small_engine(rowwise(overrides));
    Engine recomputing = recomputing_engine(overrides);
    EXPECT_EQ(train(recomputing), train(reading)) << fmt::format("{}", fmt::join(overrides, " "));
  }
}

/// Calls of the op in a step.
template <typename Op>
std::int64_t calls(Engine& engine) {
  engine.executor().reset_totals();
  (void)engine.compute_gradients();
  const auto& totals = engine.executor().totals();
  const auto found = totals.find(Op::name);
  return found == totals.end() ? 0 : found->second.calls;
}

struct Casts {
  std::int64_t gradients, inputs;
  friend bool operator==(const Casts&, const Casts&) = default;
};

TEST(RecomputedCasts, ServeTheLayersWhoseProductsReadCodesByRowAlone) {
  const auto casts = [](const std::vector<std::string>& overrides) {
    Engine engine = recomputing_engine(overrides);
    return Casts{calls<ops::SwigluBackwardCast>(engine), calls<ops::RmsNormForwardCast>(engine)};
  };
  EXPECT_EQ(casts({}), (Casts{2, 4}));
  EXPECT_EQ(casts({"precision.skip=layers.0.*"}), (Casts{1, 2}));
  EXPECT_EQ(casts({"precision.saved_inputs=bf16"}), (Casts{2, 0})) << "what is saved are the values";
  EXPECT_EQ(casts({"training.recompute=full"}), (Casts{2, 0})) << "nothing is saved";
  EXPECT_EQ(casts({"precision.recipe=rowwise_hp_wgrad"}), (Casts{0, 0})) << "wgrad reads bf16";
  EXPECT_EQ(casts({"precision.recipe=tensorwise"}), (Casts{0, 0}));
  EXPECT_EQ(casts({"precision.recipe=bf16"}), (Casts{0, 0}));
  Engine reading = small_engine(rowwise({}));
  EXPECT_EQ(calls<ops::SwigluBackwardCast>(reading), 0) << "the CPU computes no sooner than it reads";
}

/// The inverse scales that a cast of x [rows, cols] gives its rows.
std::vector<float> inverse_scales(const std::vector<bf16>& x, std::size_t cols, const fp8::ScaleRule& rule) {
  std::vector<float> inverse;
  for (std::size_t row = 0; row < x.size(); row += cols) {
    inverse.push_back(fp8::inverse(rule.scale(to_float(fp8::amax({x.data() + row, cols})))));
  }
  return inverse;
}

template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto* first = tensor.ptr<T>();
  return {first, first + tensor.numel()};
}

TEST(RecomputedCasts, HaveTheirInputStoredForWhoeverLooks) {
  Engine engine = recomputing_engine({});
  EXPECT_EQ(calls<ops::SwigluBackward>(engine), 2);
  std::map<std::string, std::vector<bf16>, std::less<>> values;
  std::map<std::string, std::vector<float>, std::less<>> scales;
  engine.executor().set_observer([&](std::string_view name, const Tensor& tensor) {
    if (tensor.dtype() == DType::bf16) values[std::string(name)] = values_of<bf16>(tensor);
    if (name.ends_with("_scale")) scales[std::string(name)] = values_of<float>(tensor);
  });
  EXPECT_EQ(calls<ops::SwigluBackward>(engine), 4) << "once more for its values";
  const auto rule = fp8::ScaleRule::of(fp8::Format::e4m3fn, true);
  for (const std::string layer : {"layers.0", "layers.1"}) {
    const auto expect_scales = [&](const std::string& name, std::size_t cols, const std::string& scale) {
      EXPECT_EQ(inverse_scales(values.at(layer + name), cols, rule), scales.at(layer + scale)) << layer << name;
    };
    expect_scales(".feed_forward.gate_up_gradient", 128, ".feed_forward.w13.gradient_scale");
    expect_scales(".ffn_norm.output", 32, ".feed_forward.w13.input_scale");
    expect_scales(".attention_norm.output", 32, ".attention.wqkv.input_scale");
  }
}

}  // namespace
}  // namespace octet::test
