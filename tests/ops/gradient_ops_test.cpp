// The backward of every op of the oracle against central differences of its forward.
#include <cmath>

#include "ops/finite_difference.h"
#include "ops/reference/attention.h"
#include "ops/reference/embedding.h"
#include "ops/reference/feed_forward.h"
#include "ops/reference/gemm.h"
#include "ops/reference/head_norm.h"
#include "ops/reference/loss.h"
#include "ops/reference/norm.h"

namespace octet::test {
namespace {

using namespace ops::reference;  // NOLINT(google-build-using-namespace): the tests speak of nothing else
using ops::AttentionShape;

TEST(GradientOps, RmsNorm) {
  constexpr Index kRows = 5;
  constexpr Index kDim = 7;
  Vector x = random_vector("x", kRows * kDim);
  Vector weight = random_vector("weight", kDim);
  const Vector dy = random_vector("dy", kRows * kDim);
  const auto loss = [&] { return dot(dy, rmsnorm_forward(x, weight, kRows, kDim, 1e-2).y); };
  const RmsNorm forward = rmsnorm_forward(x, weight, kRows, kDim, 1e-2);
  const RmsNormGradients gradients = rmsnorm_backward(dy, x, weight, forward.rstd, kRows, kDim);
  expect_gradient("dx", x, gradients.dx, loss);
  expect_gradient("dweight", weight, gradients.dweight, loss);
}

TEST(GradientOps, Rope) {
  const RopeShape shape{.rows = 6, .row_stride = 11, .heads = 2, .head_dim = 4, .seq_len = 3, .offset = 2};
  Vector x = random_vector("x", shape.rows * shape.row_stride);
  const Vector cos_sin = random_vector("cos_sin", (shape.seq_len + shape.offset) * shape.head_dim);
  const Vector dy = random_vector("dy", shape.rows * shape.row_stride);
  expect_gradient("dx", x, rope(dy, cos_sin, shape, true), [&] { return dot(dy, rope(x, cos_sin, shape, false)); });
}

TEST(GradientOps, HeadNorm) {
  const ops::HeadNormShape shape{.rows = 4, .seq_len = 4, .heads = 4, .kv_heads = 2, .head_dim = 6};
  Vector x = random_vector("x", shape.rows * shape.cols());
  Vector weights = random_vector("weights", 2 * shape.head_dim);
  const Vector dy = random_vector("dy", shape.rows * shape.cols());
  const auto loss = [&] { return dot(dy, head_norm_forward(x, weights, shape, 1e-2)); };
  const HeadNormGradients gradients = head_norm_backward(dy, x, weights, shape, 1e-2);
  expect_gradient("dx", x, gradients.dx, loss);
  expect_gradient("dweights", weights, gradients.dweights, loss);
}

class GradientAttention : public testing::TestWithParam<AttentionShape> {};

TEST_P(GradientAttention, MatchesDifferences) {
  const AttentionShape shape = GetParam();
  const double scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
  Vector qkv = random_vector("qkv", shape.rows() * shape.qkv_cols());
  const Vector dout = random_vector("dout", shape.rows() * shape.out_cols());
  const auto loss = [&] { return dot(dout, attention_forward(qkv, attention_softmax(qkv, shape, scale), shape)); };
  const Vector dqkv = attention_backward(qkv, attention_softmax(qkv, shape, scale), dout, shape, scale);
  expect_gradient("dqkv", qkv, dqkv, loss);
}

// {batch, seq_len, heads, kv_heads, head_dim, value_dim}: one of everything; all heads apart; pairs share; all share;
// shorter values; longer ones
INSTANTIATE_TEST_SUITE_P(Shapes, GradientAttention,
                         testing::Values(AttentionShape{1, 1, 1, 1, 2}, AttentionShape{2, 5, 3, 3, 4},
                                         AttentionShape{2, 7, 4, 2, 6}, AttentionShape{1, 6, 3, 1, 2},
                                         AttentionShape{2, 5, 4, 2, 6, 4}, AttentionShape{2, 4, 2, 2, 3, 5}));

/// Of documents of one, two and four tokens in the first of two sequences, and of seven in the second.
TEST(GradientOps, AttentionBetweenDocuments) {
  const AttentionShape shape{2, 7, 4, 2, 6, 4};
  const std::vector<std::int32_t> starts{0, 1, 1, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0};
  Vector qkv = random_vector("qkv", shape.rows() * shape.qkv_cols());
  const Vector dout = random_vector("dout", shape.rows() * shape.out_cols());
  const auto softmax = [&] { return attention_softmax(qkv, shape, 0.4, starts); };
  expect_gradient("dqkv", qkv, attention_backward(qkv, softmax(), dout, shape, 0.4),
                  [&] { return dot(dout, attention_forward(qkv, softmax(), shape)); });
}

/// Each document by itself gives what it gives between others, to the bit: the oracle sums nothing else.
TEST(GradientOps, ADocumentIsAttendedToAsIfItWereAlone) {
  const AttentionShape packed{1, 7, 4, 2, 6, 4};
  const std::vector<std::int32_t> starts{0, 1, 1, 3, 3, 3, 3};
  const Vector qkv = random_vector("qkv", packed.rows() * packed.qkv_cols());
  const Vector dout = random_vector("dout", packed.rows() * packed.out_cols());
  const Softmax softmax = attention_softmax(qkv, packed, 0.4, starts);
  const Vector out = attention_forward(qkv, softmax, packed);
  const Vector dqkv = attention_backward(qkv, softmax, dout, packed, 0.4);
  const auto rows = [](View x, Index begin, Index count, Index cols) {
    return Vector(x.begin() + begin * cols, x.begin() + (begin + count) * cols);
  };
  for (const auto& [begin, count] : {std::pair<Index, Index>{0, 1}, {1, 2}, {3, 4}}) {
    const AttentionShape alone{1, count, 4, 2, 6, 4};
    const Vector own = rows(qkv, begin, count, alone.qkv_cols());
    const Softmax probabilities = attention_softmax(own, alone, 0.4);
    EXPECT_EQ(attention_forward(own, probabilities, alone), rows(out, begin, count, alone.out_cols())) << begin;
    EXPECT_EQ(attention_backward(own, probabilities, rows(dout, begin, count, alone.out_cols()), alone, 0.4),
              rows(dqkv, begin, count, alone.qkv_cols()))
        << begin;
  }
}

TEST(GradientOps, AttentionDecodeIsTheLastRowOfAttention) {
  const AttentionShape shape{.batch = 2, .seq_len = 5, .heads = 4, .kv_heads = 2, .head_dim = 6};
  const Vector qkv = random_vector("qkv", shape.rows() * shape.qkv_cols());
  const Vector out = attention_forward(qkv, attention_softmax(qkv, shape, 0.3), shape);
  const DecodeShape decode{shape.batch, shape.seq_len, 8, shape.heads, shape.kv_heads, shape.head_dim};
  const Index kv_cols = shape.kv_heads * shape.head_dim;
  Vector newest;
  Vector expected;
  Vector cache_k(decode.batch * decode.capacity * kv_cols);
  Vector cache_v(cache_k.size());
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index s = 0; s < shape.seq_len; ++s) {
      const View token = row(qkv, b * shape.seq_len + s, shape.qkv_cols());
      add_scaled(row(cache_k, b * decode.capacity + s, kv_cols), 1, token.subspan(shape.out_cols(), kv_cols));
      add_scaled(row(cache_v, b * decode.capacity + s, kv_cols), 1, token.subspan(shape.out_cols() + kv_cols, kv_cols));
    }
    const Index last = (b + 1) * shape.seq_len - 1;
    const View token = row(qkv, last, shape.qkv_cols());
    const View attended = row(View(out), last, shape.out_cols());
    newest.insert(newest.end(), token.begin(), token.end());
    expected.insert(expected.end(), attended.begin(), attended.end());
  }
  EXPECT_EQ(attention_decode(newest, cache_k, cache_v, decode, 0.3), expected);
}

TEST(GradientOps, Swiglu) {
  constexpr Index kRows = 3;
  constexpr Index kDim = 5;
  Vector gate_up = random_vector("gate_up", kRows * 2 * kDim);
  const Vector dy = random_vector("dy", kRows * kDim);
  expect_gradient("dgate_up", gate_up, swiglu_backward(gate_up, dy, kRows, kDim),
                  [&] { return dot(dy, swiglu_forward(gate_up, kRows, kDim)); });
}

TEST(GradientOps, Linear) {
  constexpr Index kRows = 3;
  constexpr Index kIn = 5;
  constexpr Index kOut = 4;
  Vector x = random_vector("x", kRows * kIn);
  Vector weight = random_vector("weight", kOut * kIn);
  const Vector dy = random_vector("dy", kRows * kOut);
  const auto loss = [&] { return dot(dy, gemm(x, weight, kRows, kOut, kIn)); };
  const LinearGradients gradients = linear_backward(dy, x, weight, kRows, kIn, kOut);
  expect_gradient("dx", x, gradients.dx, loss);
  expect_gradient("dweight", weight, gradients.dweight, loss);
}

TEST(GradientOps, Embedding) {
  constexpr Index kVocab = 6;
  constexpr Index kDim = 3;
  const std::vector<std::int32_t> tokens{4, 0, 4, 5};
  Vector table = random_vector("table", kVocab * kDim);
  const Vector dy = random_vector("dy", std::ssize(tokens) * kDim);
  expect_gradient("dtable", table, embedding_backward(tokens, dy, kVocab, kDim),
                  [&] { return dot(dy, embedding_forward(tokens, table, kDim)); });
}

TEST(GradientOps, CrossEntropyWithAnIgnoredRow) {
  constexpr Index kRows = 4;
  constexpr Index kVocab = 7;
  const std::vector<std::int32_t> targets{3, -1, 0, 6};
  Vector logits = random_vector("logits", kRows * kVocab, 3);
  expect_gradient("dlogits", logits, cross_entropy(logits, targets, kRows, kVocab).dlogits, [&] {
    double sum = 0;
    for (const double value : cross_entropy(logits, targets, kRows, kVocab).loss) sum += value;
    return sum;
  });
}

}  // namespace
}  // namespace octet::test
