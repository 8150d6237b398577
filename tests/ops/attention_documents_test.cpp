// Attention between documents on the CPU, beyond what the op table's cases show: documents that begin with a block of
// rows give the bits that they give alone, and plans know what documents ask for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/cpu/cpu_backend.h"
#include "ops/one_op.h"
#include "ops/selftest/inputs.h"

namespace octet::test {
namespace {

using ops::AttentionShape;

/// Both directions of one sequence.
struct Results {
  std::vector<bf16> out, dqkv;
  std::vector<float> lse;  // [S, H]: rows of tokens, as the others are
};

Results attend(const ops::Backend& backend, const std::vector<bf16>& qkv, const std::vector<bf16>& dout,
               AttentionShape shape, const ops::Documents& documents) {
  shape.seq_len = std::ssize(qkv) / shape.qkv_cols();
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
  Results results{std::vector<bf16>(dout.size()), std::vector<bf16>(qkv.size()), {}};
  std::vector<float> lse(static_cast<std::size_t>(shape.rows() * shape.heads));
  run_one(backend, ops::AttentionForward{qkv.data(), results.out.data(), lse.data(), shape, scale, documents});
  run_one(backend, ops::AttentionBackward{qkv.data(), results.out.data(), dout.data(), lse.data(), results.dqkv.data(),
                                          shape, scale, documents});
  for (std::int64_t token = 0; token < shape.seq_len; ++token) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      results.lse.push_back(lse[static_cast<std::size_t>(head * shape.seq_len + token)]);
    }
  }
  return results;
}

template <typename T>
std::vector<T> rows_of(const std::vector<T>& all, std::int64_t begin, std::int64_t count, std::int64_t tokens) {
  const std::int64_t cols = std::ssize(all) / tokens;
  return {all.begin() + begin * cols, all.begin() + (begin + count) * cols};
}

std::vector<std::uint16_t> bits_of(const std::vector<bf16>& values) {
  std::vector<std::uint16_t> bits;
  for (const bf16 value : values) bits.push_back(value.bits);
  return bits;
}

TEST(AttentionDocuments, ThatBeginWithABlockHaveTheBitsThatTheyHaveAlone) {
  constexpr std::int64_t kTokens = 500;
  const AttentionShape shape{1, kTokens, 4, 2, 32};
  const auto qkv = ops::selftest::random_bf16("qkv", kTokens * shape.qkv_cols());
  const auto dout = ops::selftest::random_bf16("dout", kTokens * shape.out_cols());
  std::vector<std::int32_t> starts;
  for (const auto& [begin, count] : {std::pair{0, 128}, {128, 256}, {384, 116}}) {
    starts.insert(starts.end(), static_cast<std::size_t>(count), begin);
  }
  for (const int threads : {1, 3}) {
    const auto cpu = ops::make_cpu_backend(threads);
    const Results packed = attend(*cpu, qkv, dout, shape, {starts.data(), true});
    for (const auto& [begin, count] : {std::pair{0, 128}, {128, 256}, {384, 116}}) {
      const Results alone =
          attend(*cpu, rows_of(qkv, begin, count, kTokens), rows_of(dout, begin, count, kTokens), shape, {});
      EXPECT_EQ(bits_of(alone.out), bits_of(rows_of(packed.out, begin, count, kTokens))) << begin;
      EXPECT_EQ(alone.lse, rows_of(packed.lse, begin, count, kTokens)) << begin;
      EXPECT_EQ(bits_of(alone.dqkv), bits_of(rows_of(packed.dqkv, begin, count, kTokens))) << begin;
    }
  }
}

/// Where NaN lies in one document, blocks that hold none of it stay finite.
TEST(AttentionDocuments, ANanDoesNotReachTheBlocksOfOthers) {
  constexpr std::int64_t kTokens = 384;
  const AttentionShape shape{1, kTokens, 2, 1, 16};
  auto qkv = ops::selftest::random_bf16("qkv", kTokens * shape.qkv_cols());
  for (std::int64_t i = 0; i < 100 * shape.qkv_cols(); ++i) qkv[static_cast<std::size_t>(i)].bits = 0x7FC0;
  const auto dout = ops::selftest::random_bf16("dout", kTokens * shape.out_cols());
  std::vector<std::int32_t> starts(100, 0);
  starts.resize(128, 100);
  starts.resize(kTokens, 128);
  const Results results = attend(*ops::make_cpu_backend(2), qkv, dout, shape, {starts.data(), true});
  const auto is_finite = [](bf16 value) { return std::isfinite(to_float(value)); };
  EXPECT_FALSE(std::ranges::any_of(rows_of(results.out, 0, 100, kTokens), is_finite));
  EXPECT_TRUE(std::ranges::all_of(rows_of(results.out, 128, 256, kTokens), is_finite));
  EXPECT_TRUE(std::ranges::all_of(rows_of(results.dqkv, 128, 256, kTokens), is_finite));
}

TEST(AttentionDocuments, WorkspaceIsPlannedWithoutPointers) {
  const auto cpu = ops::make_cpu_backend(3);
  const std::vector<std::int32_t> starts(300);
  const auto expect_planned = [&](auto op) {
    op.shape = {1, 300, 2, 1, 16};
    op.documents.packed = true;
    const std::size_t planned = cpu->workspace_bytes(op);
    op.documents.start = starts.data();
    EXPECT_EQ(cpu->workspace_bytes(op), planned) << op.name;
  };
  expect_planned(ops::AttentionForward{});
  expect_planned(ops::AttentionBackward{});
}

}  // namespace
}  // namespace octet::test
