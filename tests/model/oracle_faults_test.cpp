// The comparison with the oracle must fail where it should: wrong lines of the model, one at a time.
#include <gtest/gtest.h>

#include "model/agreement.h"
#include "model/faulty_backend.h"

namespace octet::test {
namespace {

using namespace ops;  // NOLINT(google-build-using-namespace): the faults name much of the op table

Agreement agreement_on(const Backend& backend, const octet::LlamaConfig& config) {
  const reference::Parameters weights = random_weights(config);
  const reference::LlamaBatch batch = random_batch(config, {2, 24});
  return agreement(model_step(config, weights, batch, precision("bf16"), backend),
                   reference::llama_step(oracle_config(config), weights, batch));
}

template <typename Op>
void expect_caught(const char* what, Fault<Op> fault, const octet::LlamaConfig& config = small_llama()) {
  const Agreement found = agreement_on(make_faulty_backend<Op>(std::move(fault)), config);
  EXPECT_FALSE(kBf16Bounds.hold(found)) << what << " goes unnoticed: relative error of the loss " << found.loss_error
                                        << ", logits " << found.logits_sqnr << " dB, " << found.worst_gradient << " "
                                        << found.gradient_sqnr << " dB";
}

TEST(OracleFaults, NoFaultIsFound) {
  EXPECT_TRUE(kBf16Bounds.hold(agreement_on(make_faulty_backend<Zero>([](Zero&) {}), small_llama())));
}

TEST(OracleFaults, ResidualStream) {
  expect_caught<RmsNormForward>("a stream that forgets what came before", [](RmsNormForward& op) {
    if (op.has_delta) op.x = op.delta;
  });
  expect_caught<RmsNormBackward>("a gradient that does not bypass the norms", [](RmsNormBackward& op) {
    op.residual = nullptr;
    op.has_residual = false;
  });
}

TEST(OracleFaults, Rotation) {
  expect_caught<Rope>("keys that are not rotated", [](Rope& op) { op.heads = small_llama().heads; });
  expect_caught<Rope>("gradients that are not rotated back", [](Rope& op) { op.inverse = false; });
  expect_caught<Rope>("positions that start at 1 in backward", [](Rope& op) { op.seq_len -= op.inverse ? 1 : 0; });
}

TEST(OracleFaults, NormedHeads) {
  expect_caught<HeadNormRope>(
      "positions that wrap too early", [](HeadNormRope& op) { op.shape.seq_len -= 1; }, small_qwen3());
  expect_caught<HeadNormRope>(
      "a norm that hardly norms", [](HeadNormRope& op) { op.eps = 0.5F; }, small_qwen3());
  expect_caught<HeadNormRopeBackward>(
      "gradients turned back at other positions", [](HeadNormRopeBackward& op) { op.shape.seq_len -= 1; },
      small_qwen3());
  expect_caught<HeadNormRopeBackward>(
      "gradients of what attention has read", [](HeadNormRopeBackward& op) { op.x = op.dqkv; }, small_qwen3());
}

TEST(OracleFaults, Attention) {
  expect_caught<AttentionForward>("scores on another scale", [](AttentionForward& op) { op.scale *= 1.1F; });
  expect_caught<AttentionBackward>("gradients of another scale", [](AttentionBackward& op) { op.scale *= 1.1F; });
  expect_caught<AttentionForward>("two sequences read as one", [](AttentionForward& op) {
    op.shape.seq_len *= op.shape.batch;
    op.shape.batch = 1;
  });
}

TEST(OracleFaults, Products) {
  expect_caught<Gemm>("a weight gradient with its operands swapped", [](Gemm& op) {
    if (op.d_dtype != DType::f32) return;
    std::swap(op.a, op.b);
    std::swap(op.m, op.n);
  });
  expect_caught<Gemm>("a square weight that dgrad reads as forward does", [](Gemm& op) {
    if (op.d_dtype == DType::bf16 && op.b.transposed && op.n == op.k) op.b.transposed = false;
  });
}

TEST(OracleFaults, LossAndEmbedding) {
  expect_caught<CrossEntropy>("a gradient of another scale", [](CrossEntropy& op) { op.gradient_scale *= 1.03F; });
  expect_caught<EmbeddingBackward>("the last token's gradient forgotten", [](EmbeddingBackward& op) { --op.rows; });
}

}  // namespace
}  // namespace octet::test
