// What packed documents spare attention on AMD's GPUs: tiles that lie wholly outside of a query's document are neither
// read nor multiplied.
#include "hip/counted_fixture.h"
#include "ops/selftest/packing.h"

namespace octet::test {
namespace {

class PackedAttention : public CountedTest, public testing::WithParamInterface<std::size_t> {
 protected:
  static constexpr ops::AttentionShape kShape{1, 512, 2, 1, 64};
  static constexpr std::int64_t kTile = 64;

  struct Totals {
    LaunchTotals forward, backward;
  };

  Totals totals(const ops::Documents& documents) {
    const bf16* qkv = gpu_.upload(values(kShape.rows() * kShape.qkv_cols()));
    auto* out = gpu_.room<bf16>(kShape.rows() * kShape.out_cols());
    const bf16* dout = gpu_.upload(values(kShape.rows() * kShape.out_cols()));
    auto* lse = gpu_.room<float>(kShape.rows() * kShape.heads);
    auto* dqkv = gpu_.room<bf16>(kShape.rows() * kShape.qkv_cols());
    return {gpu_.run(ops::AttentionForward{qkv, out, lse, kShape, 0.125F, documents}),
            gpu_.run(ops::AttentionBackward{qkv, out, dout, lse, dqkv, kShape, 0.125F, documents})};
  }
  Totals totals(const ops::selftest::Packing& packing) {
    return totals({gpu_.upload(ops::selftest::document_starts(packing, kShape.batch, kShape.seq_len)), true});
  }

  CountedGpu gpu_ = open_gpu(GetParam());
};

double ratio(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// Of 36 pairs of 64 queries and 64 keys, 8 lie on the diagonal, which cost more than others, as they are masked. Where
/// each sequence is one document, to find that out costs little.
TEST_P(PackedAttention, SkipsWhatLiesOutsideOfDocuments) {
  const Totals whole = totals(ops::Documents{});
  const Totals packed = totals(ops::selftest::Packing{kTile});
  const Totals one_document = totals(ops::selftest::kWholeSequences);
  for (const auto direction : {&Totals::forward, &Totals::backward}) {
    const LaunchTotals& all = whole.*direction;
    const LaunchTotals& part = packed.*direction;
    const LaunchTotals& same = one_document.*direction;
    fmt::print("documents of {} in {} tokens: {:.2f} of the instructions, {:.2f} of the bytes; one document: {:.3f}\n",
               kTile, kShape.seq_len, ratio(part.instructions, all.instructions), ratio(part.bytes, all.bytes),
               ratio(same.instructions, all.instructions));
    EXPECT_LT(ratio(part.instructions, all.instructions), 0.55);
    EXPECT_LT(ratio(part.bytes, all.bytes), 0.55);
    EXPECT_LT(ratio(same.instructions, all.instructions), 1.05);
    EXPECT_LT(ratio(same.bytes, all.bytes), 1.02);
  }
}

INSTANTIATE_TEST_SUITE_P(Processors, PackedAttention, testing::Values(0, 1),
                         [](const auto& processor) { return std::string(kProcessors.at(processor.param)); });

}  // namespace
}  // namespace octet::test
