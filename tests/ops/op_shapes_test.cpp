// Every op shows its size, under the names of its members.
#include "ops/op_shapes.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>

#include "ops/ops.h"

namespace octet::ops {
namespace {

using Extents = std::map<std::string_view, std::int64_t>;

template <typename Op>
Extents map_of(const Op& op) {
  Extents extents;
  for (const auto& [name, value] : extents_of(op)) EXPECT_TRUE(extents.emplace(name, value).second) << name;
  return extents;
}

TEST(OpShapes, OfAProduct) {
  Gemm gemm{};
  gemm.m = 2;
  gemm.n = 3;
  gemm.k = 4;
  gemm.a.dtype = DType::e4m3fn;
  gemm.b.dtype = DType::e5m2;
  gemm.d_dtype = DType::f32;
  EXPECT_EQ(map_of(gemm), (Extents{{"m", 2}, {"n", 3}, {"k", 4}}));
  EXPECT_EQ(types_of(gemm), "e4m3fn x e5m2 -> f32");
}

TEST(OpShapes, OfAGroupedProduct) {
  GroupedGemm gemm{};
  gemm.groups.experts = 8;
  gemm.groups.rows = 100;
  gemm.n = 3;
  gemm.k = 4;
  gemm.a.dtype = gemm.b.dtype = DType::e4m3fn;
  EXPECT_EQ(map_of(gemm), (Extents{{"experts", 8}, {"rows", 100}, {"n", 3}, {"k", 4}}));
  EXPECT_EQ(types_of(gemm), "e4m3fn x e4m3fn -> bf16");
}

TEST(OpShapes, OfARouter) {
  Route route{};
  route.rows = 5;
  route.rule.experts = 8;
  route.rule.top_k = 2;
  EXPECT_EQ(map_of(route), (Extents{{"rows", 5}, {"experts", 8}, {"top_k", 2}}));
}

TEST(OpShapes, OfAMatrix) {
  QuantizeRows cast{};
  cast.rows = 5;
  cast.cols = 6;
  EXPECT_EQ(map_of(cast), (Extents{{"rows", 5}, {"cols", 6}}));
  EXPECT_EQ(types_of(cast), "");
}

TEST(OpShapes, OfAttention) {
  AttentionForward attention{};
  attention.shape = {2, 64, 8, 4, 16};
  EXPECT_EQ(
      map_of(attention),
      (Extents{{"batch", 2}, {"seq_len", 64}, {"heads", 8}, {"kv_heads", 4}, {"head_dim", 16}, {"value_dim", 16}}));
  attention.shape.value_dim = 12;
  EXPECT_EQ(map_of(attention).at("value_dim"), 12);
}

/// Of two products, or five, over the causal half: those of 1 to 3 keys for the three queries of each of 2 x 4 heads.
TEST(OpShapes, WorkOfAttentionWhoseValuesAreShorter) {
  const AttentionShape shape{.batch = 2, .seq_len = 3, .heads = 4, .kv_heads = 2, .head_dim = 24, .value_dim = 16};
  EXPECT_EQ(shape.qkv_cols(), 4 * 24 + 2 * 24 + 2 * 16);
  EXPECT_EQ(shape.out_cols(), 4 * 16);
  constexpr double kPairs = 2 * 4 * (1 + 2 + 3);
  const AttentionForward forward{nullptr, nullptr, nullptr, shape, 1, {}};
  EXPECT_EQ(forward.flops(), 2 * kPairs * (24 + 16));
  EXPECT_EQ(forward.bytes(), 6 * (176 + 64) * 2 + 6 * 4 * 4);
  const AttentionBackward backward{nullptr, nullptr, nullptr, nullptr, nullptr, shape, 1, {}};
  EXPECT_EQ(backward.flops(), 2 * kPairs * (3 * 24 + 2 * 16));
  EXPECT_EQ(backward.bytes(), 6 * (176 + 64) * 2 * 2 + 6 * 4 * 4);

  AttentionForward packed = forward;
  packed.documents.packed = true;
  EXPECT_EQ(packed.flops(), forward.flops()) << "of whole sequences, whatever the documents";
  EXPECT_EQ(packed.bytes(), forward.bytes() + 6 * 4);
}

/// Its m and v are pointers.
TEST(OpShapes, OfAnOptimizer) {
  AdamW adamw{};
  adamw.rows = 7;
  adamw.cols = 5;
  EXPECT_EQ(map_of(adamw), (Extents{{"rows", 7}, {"cols", 5}}));
  adamw.matrices = 3;
  EXPECT_EQ(map_of(adamw), (Extents{{"matrices", 3}, {"rows", 7}, {"cols", 5}}));
}

/// An op of zero bytes: not each can be made from nothing.
template <typename Op>
Op blank() {
  return std::bit_cast<Op>(std::array<std::byte, sizeof(Op)>{});
}

template <typename... Ops>
struct EveryOp {
  [[nodiscard]] static std::vector<std::string_view> without_extents() {
    std::vector<std::string_view> names;
    ((map_of(blank<Ops>()).empty() ? names.push_back(Ops::name) : void()), ...);
    return names;
  }
};

TEST(OpShapes, OfEveryOp) {
  EXPECT_EQ(AllOps<EveryOp>::without_extents(), std::vector<std::string_view>{});
}

}  // namespace
}  // namespace octet::ops
