// The instances of the GPUs' attention kernels: who takes which heads, and that the self-test runs each.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "kernels/attention_layout.h"
#include "ops/selftest/checks/attention_checks.h"

namespace octet::kernels {
namespace {

using Heads = std::pair<int, int>;

Heads instance_for(std::int64_t head_dim, std::int64_t value_dim) {
  const AttentionTiles tiles = attention_tiles(static_cast<int>(head_dim), static_cast<int>(value_dim));
  return {tiles.head_dim, tiles.value_dim};
}

TEST(AttentionTiles, HeadsGoToTheFirstInstanceThatTheyFitInto) {
  EXPECT_EQ(instance_for(8, 8), Heads(32, 32));
  EXPECT_EQ(instance_for(64, 64), Heads(64, 64));
  EXPECT_EQ(instance_for(64, 72), Heads(128, 128));
  EXPECT_EQ(instance_for(128, 128), Heads(128, 128));
  EXPECT_EQ(instance_for(192, 128), Heads(192, 128));
  EXPECT_EQ(instance_for(136, 64), Heads(192, 128));
  EXPECT_EQ(instance_for(128, 136), Heads(256, 256));
  EXPECT_EQ(instance_for(256, 256), Heads(256, 256));
}

TEST(AttentionTiles, TheSelfTestRunsEachInstance) {
  for (const AttentionTiles& tiles : kAttentionTiles) {
    const auto& cases = ops::selftest::OpCheck<ops::AttentionForward>::kCases;
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                            [&](const ops::selftest::AttentionCase& c) {
                              const bool tiled = c.shape.head_dim % 8 == 0 && c.shape.value_dim % 8 == 0;
                              const bool several_blocks = c.shape.seq_len > kOwnedRows && c.shape.seq_len % 16 != 0;
                              return tiled && several_blocks &&
                                     instance_for(c.shape.head_dim, c.shape.value_dim) ==
                                         Heads(tiles.head_dim, tiles.value_dim);
                            }))
        << tiles.head_dim << " and " << tiles.value_dim;
  }
}

/// Two workgroups of latent attention's heads share a compute unit of CDNA3, whose registers hold the owned rows.
TEST(AttentionTiles, LatentAttentionTakesHalfOfCdna3) {
  constexpr int kCdna3 = 64 * 1024;
  const AttentionTiles tiles = attention_tiles(192, 128);
  EXPECT_LE(forward_shared_bytes(tiles, kCdna3), kCdna3 / 2);
  EXPECT_LE(backward_shared_bytes(tiles, kCdna3), kCdna3 / 2);
}

}  // namespace
}  // namespace octet::kernels
