// What a step may be cut into without changing it: micro-batches, and chunks of the loss.
#include <gtest/gtest.h>

#include <cmath>

#include "model/agreement.h"
#include "model/faulty_backend.h"

namespace octet::test {
namespace {

using ops::reference::LlamaBatch;
using ops::reference::Parameters;

struct Totals {
  double loss_sum = 0;
  Parameters gradients;
  std::int64_t loss_chunks = 0;
};

/// Sequences [begin, begin + count) of a batch.
LlamaBatch sequences(const LlamaBatch& batch, std::int64_t begin, std::int64_t count) {
  const auto part = [&](const std::vector<std::int32_t>& whole) {
    const auto first = whole.begin() + begin * batch.seq_len;
    return std::vector<std::int32_t>(first, first + count * batch.seq_len);
  };
  return {count, batch.seq_len, part(batch.tokens), part(batch.targets)};
}

/// The batch in `parts` micro-batches of equal size.
Totals train_in_parts(const LlamaConfig& config, const LlamaBatch& batch, std::int64_t parts, const char* recipe,
                      const ops::Backend& backend) {
  const std::int64_t count = batch.batch / parts;
  ModelRun run(config, {count, batch.seq_len}, precision(recipe), backend);
  run.set_weights(random_weights(config));
  const double scale = 1 / static_cast<double>(counted_targets(batch));
  for (std::int64_t part = 0; part < parts; ++part) {
    run.train(sequences(batch, part * count, count), scale, part > 0);
  }
  return {run.loss_sum(), run.gradients(), run.executor().totals().at(ops::CrossEntropy::name).calls};
}

/// The lowest SQNR of all gradients, in dB; infinite for equal ones.
double worst_sqnr(const Parameters& actual, const Parameters& expected) {
  double worst = std::numeric_limits<double>::infinity();
  for (const auto& [name, gradient] : expected) worst = std::min(worst, sqnr(actual.at(name), gradient));
  return worst;
}

// The same products with other row counts: single bf16 roundings may fall the other way, nothing more.
constexpr double kSameStep = 50;

class MicroBatches : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<ops::Backend> backend_ = ops::make_cpu_backend(2);
};

TEST_P(MicroBatches, AccumulateToTheirWhole) {
  for (const bool tied : {false, true}) {
    LlamaConfig config = small_llama();
    config.tied_embeddings = tied;
    const LlamaBatch batch = random_batch(config, {4, 24});
    const Totals whole = train_in_parts(config, batch, 1, GetParam(), *backend_);
    for (const std::int64_t parts : {2, 4}) {
      const Totals accumulated = train_in_parts(config, batch, parts, GetParam(), *backend_);
      EXPECT_NEAR(accumulated.loss_sum / whole.loss_sum, 1, 1e-5) << parts << " parts";
      EXPECT_GE(worst_sqnr(accumulated.gradients, whole.gradients), kSameStep) << parts << " parts, tied: " << tied;
    }
  }
}

// Row codes of a token depend on that token alone; in these recipes nothing is shared between micro-batches.
INSTANTIATE_TEST_SUITE_P(Recipes, MicroBatches, testing::Values("bf16", "rowwise_hp_wgrad"),
                         [](const auto& each) { return std::string(each.param); });

TEST(MicroBatchFaults, WeightGradientsThatAreWrittenInsteadOfAdded) {
  const LlamaConfig config = small_llama();
  const LlamaBatch batch = random_batch(config, {4, 24});
  const auto backend = make_faulty_backend<ops::Gemm>([](ops::Gemm& op) { op.accumulate = false; });
  const Totals whole = train_in_parts(config, batch, 1, "bf16", backend);
  const Totals accumulated = train_in_parts(config, batch, 2, "bf16", backend);
  EXPECT_LT(worst_sqnr(accumulated.gradients, whole.gradients), kSameStep);
}

/// A vocabulary so large that the logits of a batch take several chunks.
LlamaConfig wide_vocabulary() {
  LlamaConfig config = small_llama();
  config.vocab = 1 << 17;
  config.dim = 16;
  config.layers = 1;
  config.heads = 1;
  config.kv_heads = 1;
  config.ffn_dim = 16;
  config.tied_embeddings = true;
  return config;
}

TEST(LossChunks, OfOneBatchGiveTheLossAndGradientsOfBatchesThatTakeOneEach) {
  const auto backend = ops::make_cpu_backend(2);
  const LlamaConfig config = wide_vocabulary();
  const LlamaBatch batch = random_batch(config, {30, 48});
  const Totals chunked = train_in_parts(config, batch, 1, "bf16", *backend);
  const Totals unchunked = train_in_parts(config, batch, 2, "bf16", *backend);
  EXPECT_EQ(chunked.loss_chunks, 2) << "of 1440 rows, 1024 and 416";
  EXPECT_EQ(unchunked.loss_chunks, 2) << "one for each micro-batch of 720 rows";
  EXPECT_NEAR(chunked.loss_sum / unchunked.loss_sum, 1, 1e-7);
  EXPECT_GE(worst_sqnr(chunked.gradients, unchunked.gradients), kSameStep);
}

}  // namespace
}  // namespace octet::test
