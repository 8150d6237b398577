// Faults of the ops that DeepSeek-V3 has beside those of its experts.
#include <gtest/gtest.h>

#include "ops/faulty_op.h"

namespace octet::test {
namespace {

TEST(OpTableDeepSeekFaults, MlaAssemble) {
  expect_caught<MlaAssemble>("qkv[", [](const MlaAssemble& op) {  // the last value
    if (op.shape.rows > 0) move(op.qkv[op.shape.rows * op.shape.qkv_cols() - 1], 2);
  });
  expect_caught<MlaAssemble>("qkv[", [](const MlaAssemble& op) {  // a shared key in one head alone
    if (op.shape.rows > 0) op.qkv[2 * op.shape.q_cols() - 1].bits ^= 0x40U;
  });
}

TEST(OpTableDeepSeekFaults, MlaAssembleBackward) {
  expect_caught<MlaAssembleBackward>("dq[", [](const MlaAssembleBackward& op) {
    if (op.shape.rows > 0) op.dq[0].bits ^= 0x40U;
  });
  expect_caught<MlaAssembleBackward>("dkv[", [](const MlaAssembleBackward& op) {
    if (op.shape.rows > 0) move(op.dkv[op.shape.rows * op.shape.kv_cols() - 1], 2);
  });
  expect_caught<MlaAssembleBackward>("dk_rope[", [](const MlaAssembleBackward& op) {
    if (op.shape.rows > 0) op.dk_rope[op.shape.rope_dim - 1].bits ^= 0x40U;
  });
  expect_caught<MlaAssembleBackward>("what lies beside dq", [](const MlaAssembleBackward& op) {
    if (op.shape.rows > 0 && op.q_stride > op.shape.q_cols()) move(op.dq[op.q_stride - 1], 1);
  });
  expect_caught<MlaAssembleBackward>("what lies beside dk_rope", [](const MlaAssembleBackward& op) {
    if (op.shape.rows > 0 && op.k_rope_stride > op.shape.rope_dim) move(op.dk_rope[op.k_rope_stride - 1], 1);
  });
}

TEST(OpTableDeepSeekFaults, Norms) {
  expect_caught<RmsNormBackward>("what lies beside dx", [](const RmsNormBackward& op) {
    if (op.rows > 0 && op.x_stride > op.dim) move(op.dx[op.x_stride - 1], 1);
  });
}

TEST(OpTableDeepSeekFaults, SumsAndTokens) {
  expect_caught<Add>("y[", [](const Add& op) {
    if (op.count > 0) move(op.y[op.count - 1], 2);
  });
  expect_caught<ShiftTokens>("shifted[", [](const ShiftTokens& op) {
    if (op.rows > 0) op.shifted[op.rows - 1] = op.tokens[0];
  });
}

}  // namespace
}  // namespace octet::test
