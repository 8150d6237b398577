// The gradients of a mixture of experts against central differences of its forward: of the router's weights and balance
// loss, of SwiGLU with a weight for each row, and of a whole layer of experts.
#include <algorithm>

#include "ops/finite_difference.h"
#include "ops/reference/grouped.h"
#include "ops/reference/routing.h"

namespace octet::test {
namespace {

using namespace ops::reference;  // NOLINT(google-build-using-namespace): the tests speak of nothing else
using ops::RouterRule;
using ops::RouterScore;

struct RouterCase {
  RouterRule rule;
  double balance_scale;
};

class GradientRouter : public testing::TestWithParam<RouterCase> {};

TEST_P(GradientRouter, OfTheLogits) {
  const auto& [rule, balance_scale] = GetParam();
  constexpr Index kSequence = 4;
  constexpr Index kRows = 2 * kSequence;
  Vector logits = random_vector("logits", kRows * rule.experts);
  const Vector bias = random_vector("bias", rule.experts, 0.1);
  const Vector dweights = random_vector("dweights", kRows * rule.top_k);
  const Routing chosen = route(logits, bias, kRows, rule);
  ASSERT_GT(*std::ranges::min_element(chosen.margins), 1e-4) << "a step of the differences may choose another expert";
  const auto backward = [&] {
    return route_backward(logits, chosen.experts, dweights, kRows, kSequence, rule, balance_scale);
  };
  expect_gradient("dlogits", logits, backward().dlogits,
                  [&] { return dot(dweights, route(logits, bias, kRows, rule).weights) + backward().balance_loss; });
}

constexpr RouterRule with(RouterScore score, bool normalised) {
  return {.experts = 6, .top_k = 3, .score = score, .normalised = normalised, .scale = 2.5F};
}

INSTANTIATE_TEST_SUITE_P(Rules, GradientRouter,
                         testing::Values(RouterCase{with(RouterScore::sigmoid, true), 0},
                                         RouterCase{with(RouterScore::sigmoid, false), 0},
                                         RouterCase{with(RouterScore::softmax, true), 0},
                                         RouterCase{with(RouterScore::softmax, false), 0},
                                         RouterCase{with(RouterScore::sigmoid, true), 0.7},
                                         RouterCase{with(RouterScore::softmax, true), 0.7},
                                         RouterCase{{.experts = 6, .top_k = 2, .groups = 3, .kept_groups = 2}, 0.3}));

TEST(GradientMoe, GroupedSwiglu) {
  constexpr Index kDim = 3;
  const std::vector<std::int32_t> choice_of_row{2, 0, 5, 3};  // of six choices, two of which have no row
  Vector gate_up = random_vector("gate_up", std::ssize(choice_of_row) * 2 * kDim);
  Vector weights = random_vector("weights", 6);
  const Vector dy = random_vector("dy", std::ssize(choice_of_row) * kDim);
  const auto loss = [&] { return dot(dy, grouped_swiglu(gate_up, weights, choice_of_row, kDim)); };
  const auto gradients = grouped_swiglu_backward(gate_up, dy, weights, choice_of_row, kDim);
  expect_gradient("dgate_up", gate_up, gradients.dgate_up, loss);
  expect_gradient("dweights", weights, gradients.dweights, loss);
}

/// Experts [count] with w13 [count, 2 ffn, dim] and w2 [count, dim, ffn], as the model runs them.
struct Experts {
  Index count, top_k, dim, ffn;
  Permutation permutation;

  struct Forward {
    Vector gathered, gate_up, activated, out;
  };
  [[nodiscard]] Forward forward(View x, View base, View weights, View w13, View w2) const {
    Forward f;
    f.gathered = gather_rows(x, permutation.choice_of_row, top_k, dim);
    f.gate_up = grouped_gemm(f.gathered, w13, permutation.offsets, 2 * ffn, dim);
    f.activated = grouped_swiglu(f.gate_up, weights, permutation.choice_of_row, ffn);
    const Vector routed = grouped_gemm(f.activated, w2, permutation.offsets, dim, ffn);
    f.out = combine_rows(routed, permutation.row_of_choice, base, top_k, dim);
    return f;
  }

  struct Gradients {
    Vector dx, dweights, dw13, dw2;
  };
  [[nodiscard]] Gradients backward(const Forward& f, View dout, View weights, View w13, View w2) const {
    const auto& [offsets, padded_offsets, choice_of_row, row_of_choice] = permutation;
    const Vector drouted = gather_rows(dout, choice_of_row, top_k, dim);
    const Vector dactivated = grouped_gemm(drouted, transposed(w2, dim, ffn), offsets, ffn, dim);
    const auto [dgate_up, dweights] = grouped_swiglu_backward(f.gate_up, dactivated, weights, choice_of_row, ffn);
    const Vector dgathered = grouped_gemm(dgate_up, transposed(w13, 2 * ffn, dim), offsets, dim, 2 * ffn);
    return {combine_rows(dgathered, row_of_choice, {}, top_k, dim), dweights,
            grouped_wgrad(dgate_up, f.gathered, offsets, 2 * ffn, dim),
            grouped_wgrad(drouted, f.activated, offsets, dim, ffn)};
  }

 private:
  /// Each expert's matrix [rows, cols] by itself.
  [[nodiscard]] Vector transposed(View w, Index rows, Index cols) const {
    Vector all;
    for (Index e = 0; e < count; ++e) {
      const Vector one = transpose(w.subspan(e * rows * cols, rows * cols), rows, cols);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }
};

TEST(GradientMoe, Experts) {
  const std::vector<std::int32_t> chosen{3, 0, 0, 1, 3, 1, 0, 3};  // nobody chose expert 2
  const Experts experts{4, 2, 3, 2, group_tokens(chosen, 4)};
  constexpr Index kTokens = 4;
  Vector x = random_vector("x", kTokens * experts.dim);
  Vector base = random_vector("base", kTokens * experts.dim);
  Vector weights = random_vector("weights", std::ssize(chosen));
  Vector w13 = random_vector("w13", experts.count * 2 * experts.ffn * experts.dim);
  Vector w2 = random_vector("w2", experts.count * experts.dim * experts.ffn);
  const Vector dout = random_vector("dout", kTokens * experts.dim);
  const auto loss = [&] { return dot(dout, experts.forward(x, base, weights, w13, w2).out); };
  const auto gradients = experts.backward(experts.forward(x, base, weights, w13, w2), dout, weights, w13, w2);
  expect_gradient("dx", x, gradients.dx, loss);
  expect_gradient("dbase", base, dout, loss);
  expect_gradient("dweights", weights, gradients.dweights, loss);
  expect_gradient("dw13", w13, gradients.dw13, loss);
  expect_gradient("dw2", w2, gradients.dw2, loss);
}

}  // namespace
}  // namespace octet::test
