// The comparison with the oracle must fail where it should: wrong lines of DeepSeek-V3, one at a time.
#include <gtest/gtest.h>

#include "model/agreement.h"
#include "model/faulty_backend.h"
#include "model/small_deepseek.h"

namespace octet::test {
namespace {

struct Oracle {
  octet::DeepSeekConfig config = [] {
    octet::DeepSeekConfig each = small_deepseek();
    each.mtp_depth = 1;
    return each;
  }();
  ops::reference::Parameters weights = random_weights(config);
  ops::reference::LlamaBatch batch = clear_batch(config, {2, 5});
  ops::reference::DeepSeekStep step = ops::reference::deepseek_step(oracle_config(config), weights, batch);
};

class DeepSeekFaults : public testing::Test {
 protected:
  static Agreement agreement_on(const ops::Backend& backend) {
    static const Oracle oracle;
    const BatchShape shape{oracle.batch.batch, oracle.batch.seq_len};
    ModelRun run(make_deepseek(oracle.config, shape, {precision("bf16"), WeightCodes::cached, {}}), shape, backend);
    write_biases(backend.device(), run.model(), {});
    return agreement(model_step(run, oracle.weights, oracle.batch), oracle.step);
  }

  template <typename Op>
  static void expect_caught(const char* what, Fault<Op> fault) {
    const Agreement found = agreement_on(make_faulty_backend<Op>(std::move(fault)));
    EXPECT_FALSE(kLatentBounds.hold(found))
        << what << " goes unnoticed: relative error of the loss " << found.loss_error << ", logits "
        << found.logits_sqnr << " dB, " << found.worst_gradient << " " << found.gradient_sqnr << " dB";
  }
};

TEST_F(DeepSeekFaults, NoFaultIsFound) {
  EXPECT_TRUE(kLatentBounds.hold(agreement_on(make_faulty_backend<ops::Zero>([](ops::Zero&) {}))));
}

TEST_F(DeepSeekFaults, LatentAttention) {
  expect_caught<ops::RmsNormForward>("a latent that is normed from the wrong column", [](ops::RmsNormForward& op) {
    if (op.x != nullptr && op.x_stride > op.dim) op.x += 1;
  });
  expect_caught<ops::MlaAssemble>("positions of another table", [](ops::MlaAssemble& op) { op.shape.seq_len = 1; });
  expect_caught<ops::MlaAssembleBackward>("gradients that are not rotated back",
                                          [](ops::MlaAssembleBackward& op) { op.shape.seq_len = 1; });
  expect_caught<ops::AttentionForward>("a scale without YaRN's growth", [](ops::AttentionForward& op) {
    op.scale = 1 / std::sqrt(static_cast<float>(op.shape.head_dim));
  });
}

TEST_F(DeepSeekFaults, Experts) {
  expect_caught<ops::Route>("weights without their scale", [](ops::Route& op) { op.rule.scale = 1; });
  expect_caught<ops::Route>("choices that know no groups", [](ops::Route& op) {
    op.rule.groups = 1;
    op.rule.kept_groups = 1;
  });
  expect_caught<ops::RouteBackward>("a router that learns with another scale",
                                    [](ops::RouteBackward& op) { op.rule.scale = 1; });
  expect_caught<ops::CombineRows>("shared experts forgotten", [](ops::CombineRows& op) { op.has_base = false; });
  expect_caught<ops::GroupedWgrad>("the last expert's rows forgotten",
                                   [](ops::GroupedWgrad& op) { --op.groups.experts; });
  expect_caught<ops::GroupedSwigluBackward>("experts that learn as if they weighed alike",
                                            [](ops::GroupedSwigluBackward& op) {
                                              static const std::vector<float> ones(64, 1.0F);
                                              if (op.weights != nullptr) op.weights = ones.data();
                                            });
  expect_caught<ops::Add>("shared experts' gradient forgotten", [](ops::Add& op) { op.has_b = false; });
}

TEST_F(DeepSeekFaults, FurtherTokens) {
  expect_caught<ops::ShiftTokens>("sequences that end at once", [](ops::ShiftTokens& op) { op.seq_len = 1; });
  expect_caught<ops::CrossEntropy>("further tokens that weigh as much as the next", [](ops::CrossEntropy& op) {
    op.gradient_scale = 1 / static_cast<float>(op.rows - 1);  // one target of them is ignored
  });
}

}  // namespace
}  // namespace octet::test
