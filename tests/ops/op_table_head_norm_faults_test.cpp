// The op table must fail where it should: faults planted in the norms of query and key heads.
#include <gtest/gtest.h>

#include "ops/faulty_op.h"

namespace octet::test {
namespace {

TEST(OpTableFaults, HeadNormRope) {
  expect_caught<HeadNormRope>("y[", [](const HeadNormRope& op) {
    if (op.shape.rows > 0) move(op.y[0], 2);
  });
  expect_caught<HeadNormRope>("value heads", [](const HeadNormRope& op) {
    if (op.shape.rows > 0) move(op.y[op.shape.rows * op.shape.cols() - 1], 1);
  });
  expect_mistake_caught<HeadNormRope>("y[", [](HeadNormRope op) {  // under the queries' weights alone
    op.shape.heads += op.shape.kv_heads;
    op.shape.kv_heads = 0;
    return op;
  });
  expect_mistake_caught<HeadNormRope>("y[", [](HeadNormRope op) {
    op.shape.offset = 0;
    return op;
  });
  expect_mistake_caught<HeadNormRope>("y[", [](HeadNormRope op) {
    op.eps = 0.1F;
    return op;
  });
}

TEST(OpTableFaults, HeadNormRopeBackward) {
  expect_caught<HeadNormRopeBackward>("dqkv[", [](const HeadNormRopeBackward& op) {
    if (op.shape.rows > 0) move(op.dqkv[0], 4);
  });
  expect_caught<HeadNormRopeBackward>("dweights[", [](const HeadNormRopeBackward& op) { op.dweights[0] *= 1.01F; });
  expect_caught<HeadNormRopeBackward>("dweights[", [](const HeadNormRopeBackward& op) {  // those of keys
    op.dweights[2 * op.shape.head_dim - 1] += 0.01F;
  });
  expect_caught<HeadNormRopeBackward>(": codes[", [](const HeadNormRopeBackward& op) {  // of the last value head
    if (op.codes.wanted && op.shape.rows > 0) op.codes.codes[op.shape.cols() - 1] ^= 1U;
  });
  expect_mistake_caught<HeadNormRopeBackward>(": column_amax[", [](HeadNormRopeBackward op) {
    op.columns = {};
    return op;
  });
}

}  // namespace
}  // namespace octet::test
