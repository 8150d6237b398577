// Packed sequences: each document is learnt from as if it were alone, in whole models.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "model/agreement.h"
#include "model/faulty_backend.h"
#include "model/small_deepseek.h"

namespace octet::test {
namespace {

using ops::reference::LlamaBatch;
using ops::reference::Parameters;
using ops::reference::Vector;
using ops::reference::View;

constexpr std::int64_t kVocab = 80;

/// Two sequences of 24 tokens: documents of 1, 8, 14 and 1 tokens, and of 13 and 11.
LlamaBatch packed_batch() {
  LlamaConfig vocabulary;
  vocabulary.vocab = kVocab;
  LlamaBatch batch = random_batch(vocabulary, {2, 24});
  for (const auto& [start, count] : {std::pair{0, 1}, {1, 8}, {9, 14}, {23, 1}, {0, 13}, {13, 11}}) {
    batch.document_start.insert(batch.document_start.end(), static_cast<std::size_t>(count), start);
  }
  return batch;
}

LlamaBatch without_documents(LlamaBatch batch) {
  batch.document_start.clear();
  return batch;
}

std::string describe(const Agreement& found) {
  return fmt::format("relative error of the loss {}, logits {} dB, {} {} dB", found.loss_error, found.logits_sqnr,
                     found.worst_gradient, found.gradient_sqnr);
}

// ---- Llama ----------------------------------------------------------------------------------------------------------

class PackedLlama : public testing::Test {
 protected:
  static ModelStep step(const LlamaBatch& batch, const ops::Backend& backend, const Recompute& recompute = {},
                        const char* recipe = "bf16") {
    const BatchShape shape = shape_of(batch);
    const ModelOptions options{precision(recipe), WeightCodes::cached, {SavedInput::codes, recompute}};
    ModelRun run(std::make_unique<Llama>(config_, shape.tokens(), shape.seq_len, options), shape, backend);
    return model_step(run, weights_, batch);
  }
  static ops::reference::LlamaStep oracle(const LlamaBatch& batch) {
    return ops::reference::llama_step(oracle_config(config_), weights_, batch);
  }

  template <typename Op>
  static void expect_caught(const char* what, Fault<Op> fault) {
    const LlamaBatch batch = packed_batch();
    const Agreement found = agreement(step(batch, make_faulty_backend<Op>(std::move(fault))), oracle(batch));
    EXPECT_FALSE(kBf16Bounds.hold(found)) << what << " goes unnoticed: " << describe(found);
  }

  inline static const LlamaConfig config_ = small_llama();
  inline static const Parameters weights_ = random_weights(config_);
  std::unique_ptr<ops::Backend> backend_ = ops::make_cpu_backend(2);
};

TEST_F(PackedLlama, AgreesWithTheOracle) {
  const LlamaBatch batch = packed_batch();
  const ModelStep actual = step(batch, *backend_);
  const Agreement found = agreement(actual, oracle(batch));
  EXPECT_TRUE(kBf16Bounds.hold(found)) << describe(found);
  EXPECT_FALSE(kBf16Bounds.hold(agreement(actual, oracle(without_documents(batch))))) << "documents matter";
}

TEST_F(PackedLlama, MakesTheSameAgain) {
  const LlamaBatch batch = packed_batch();
  const ModelStep saved = step(batch, *backend_);
  const ModelStep remade = step(batch, *backend_, Recompute::full());
  EXPECT_EQ(remade.loss, saved.loss);
  EXPECT_EQ(remade.gradients, saved.gradients);
}

TEST_F(PackedLlama, ValidatesWithTheLossOfTraining) {
  const LlamaBatch batch = packed_batch();
  ModelRun run(config_, shape_of(batch), precision("bf16"), *backend_);
  run.set_weights(weights_);
  run.validate(batch);
  EXPECT_EQ(run.loss_sum() / static_cast<double>(counted_targets(batch)), step(batch, *backend_).loss);
}

/// Wrong lines of a model that packs, and of kernels.
TEST_F(PackedLlama, FaultsAreCaught) {
  expect_caught<ops::AttentionForward>("attention across documents",
                                       [](ops::AttentionForward& op) { op.documents = {}; });
  expect_caught<ops::AttentionBackward>("gradients across documents",
                                        [](ops::AttentionBackward& op) { op.documents = {}; });
  std::vector<std::int32_t> late{0};  // each document a token late
  const std::vector<std::int32_t> starts = packed_batch().document_start;
  late.insert(late.end(), starts.begin(), starts.end() - 1);
  late[24] = 0;
  const auto delay = [&late](auto& op) {
    if (op.documents.start != nullptr) op.documents.start = late.data();
  };
  expect_caught<ops::AttentionForward>("documents that begin a token late", delay);
  expect_caught<ops::AttentionBackward>("gradients of documents that begin a token late", delay);
}

/// The documents of a batch one by one, each the only sequence of a micro-batch: what the logits were, and the sums of
/// losses and gradients.
struct AloneSums {
  double loss_sum = 0;
  Vector logits;
  Parameters gradients;
};

AloneSums train_alone(const LlamaConfig& config, const Parameters& weights, const LlamaBatch& batch, double scale,
                      const ops::Backend& backend) {
  AloneSums sums;
  for (std::int64_t begin = 0, end = 0; begin < std::ssize(batch.tokens); begin = end) {
    end = begin + 1;
    const auto start_of = [&](std::int64_t i) { return batch.document_start[static_cast<std::size_t>(i)]; };
    while (end < std::ssize(batch.tokens) && end % batch.seq_len != 0 && start_of(end) == start_of(begin)) ++end;
    const auto part = [&](const std::vector<std::int32_t>& whole) {
      return std::vector<std::int32_t>(whole.begin() + begin, whole.begin() + end);
    };
    const LlamaBatch document{1, end - begin, part(batch.tokens), part(batch.targets)};
    ModelRun run(config, shape_of(document), precision("bf16"), backend);
    run.set_weights(weights);
    run.keep_logits();
    run.train(document, scale, false);
    sums.loss_sum += run.loss_sum();
    sums.logits.insert(sums.logits.end(), run.logits().begin(), run.logits().end());
    for (const auto& [name, gradient] : run.gradients()) {
      ops::reference::add_scaled(sums.gradients.try_emplace(name, gradient.size()).first->second, 1, gradient);
    }
  }
  return sums;
}

/// Alone, a document's positions count from 0: its queries and keys are rotated by other angles, and round otherwise.
TEST_F(PackedLlama, DocumentsLearnAsIfTheyWereAlone) {
  const LlamaBatch batch = packed_batch();
  const ModelStep packed = step(batch, *backend_);
  const double scale = 1 / static_cast<double>(counted_targets(batch));
  const AloneSums alone = train_alone(config_, weights_, batch, scale, *backend_);
  EXPECT_NEAR(packed.loss, alone.loss_sum * scale, kBf16Bounds.loss_error * packed.loss);
  ASSERT_EQ(packed.logits.size(), alone.logits.size());
  const auto vocab = static_cast<std::size_t>(kVocab);
  for (std::size_t token = 0; token < batch.tokens.size(); ++token) {
    const View here = View(packed.logits).subspan(token * vocab, vocab);
    EXPECT_GE(sqnr(here, View(alone.logits).subspan(token * vocab, vocab)), 30) << "logits of token " << token;
  }
  for (const auto& [name, gradient] : alone.gradients) {
    EXPECT_GE(sqnr(packed.gradients.at(name), gradient), kBf16Bounds.gradient_sqnr) << name;
  }
}

/// To the bit: what one document holds changes no logit of another, and where only one has targets, no token of another
/// gets a gradient.
TEST_F(PackedLlama, NothingCrossesABoundary) {
  constexpr std::int32_t kBoundary = 11;
  LlamaBatch batch = random_batch(config_, {1, 24});
  for (std::int32_t i = 0; i < 24; ++i) {
    const auto at = static_cast<std::size_t>(i);
    batch.tokens[at] = i < kBoundary ? i : 40 + i;  // each token of the vocabulary is in one document at most
    if (i < kBoundary) batch.targets[at] = -1;
    batch.document_start.push_back(i < kBoundary ? 0 : kBoundary);
  }
  const ModelStep before = step(batch, *backend_);
  LlamaBatch other = batch;
  for (std::int32_t i = 0; i < kBoundary; ++i) other.tokens[static_cast<std::size_t>(i)] = 30 - i;
  const auto second = [](const ModelStep& of) { return View(of.logits).subspan(std::size_t{kBoundary} * kVocab); };
  for (const char* recipe : {"bf16", "rowwise"}) {
    const ModelStep one = step(batch, *backend_, {}, recipe);
    const ModelStep two = step(other, *backend_, {}, recipe);
    EXPECT_TRUE(std::ranges::equal(second(one), second(two))) << recipe;
    EXPECT_EQ(one.loss, two.loss) << recipe;
    EXPECT_FALSE(std::ranges::equal(one.logits, two.logits)) << recipe;
  }

  const Vector& embeddings = before.gradients.at("tok_embeddings.weight");
  const auto has_gradient = [&](std::int32_t token) {
    const auto dim = static_cast<std::size_t>(config_.dim);
    return std::ranges::any_of(View(embeddings).subspan(static_cast<std::size_t>(token) * dim, dim),
                               [](double value) { return value != 0; });
  };
  for (std::int32_t i = 0; i < 24; ++i) {
    EXPECT_EQ(has_gradient(batch.tokens[static_cast<std::size_t>(i)]), i >= kBoundary) << "token " << i;
  }
}

// ---- DeepSeek-V3 ----------------------------------------------------------------------------------------------------

/// Chooses the same experts for every token, by far: no rounding changes a choice.
const Biases kChosen{{"layers.1", {3, 1.5, 0, 0, 3, 0, 0, 0}},
                     {"mtp.0.block", {0, 0, 3, 0, 0, 3, 0, 0}},
                     {"mtp.1.block", {0, 3, 0, 0, 0, 0, 0, 3}}};

class PackedDeepSeek : public testing::Test {
 protected:
  static DeepSeekConfig with_further_tokens() {
    DeepSeekConfig config = small_deepseek();
    config.mtp_depth = 2;
    return config;
  }

  struct Step : ModelStep {
    double prediction_loss = 0;
  };

  static Step step(const LlamaBatch& batch, const ops::Backend& backend) {
    const BatchShape shape = shape_of(batch);
    ModelRun run(make_deepseek(config_, shape, {precision("bf16"), WeightCodes::cached, {}}), shape, backend);
    write_biases(backend.device(), run.model(), kChosen);
    Step result{model_step(run, weights_, batch)};
    result.prediction_loss =
        run.model().other_losses(backend.device()).prediction / static_cast<double>(counted_targets(batch));
    return result;
  }
  static ops::reference::DeepSeekStep oracle(const LlamaBatch& batch) {
    return ops::reference::deepseek_step(oracle_config(config_), weights_, batch, kChosen);
  }
  static bool agrees(const Step& actual, const ops::reference::DeepSeekStep& expected) {
    const double error = std::abs(actual.prediction_loss - expected.prediction_loss) / expected.prediction_loss;
    return kLatentBounds.hold(agreement(actual, expected)) && error <= kLatentBounds.loss_error;
  }

  template <typename Op>
  static void expect_caught(const char* what, Fault<Op> fault) {
    const LlamaBatch batch = packed_batch();
    EXPECT_FALSE(agrees(step(batch, make_faulty_backend<Op>(std::move(fault))), oracle(batch)))
        << what << " goes unnoticed";
  }

  inline static const DeepSeekConfig config_ = with_further_tokens();
  inline static const Parameters weights_ = random_weights(config_);
};

TEST_F(PackedDeepSeek, AgreesWithTheOracle) {
  const LlamaBatch batch = packed_batch();
  const Step actual = step(batch, *ops::make_cpu_backend(2));
  const auto expected = oracle(batch);
  EXPECT_TRUE(agrees(actual, expected)) << describe(agreement(actual, expected)) << ", loss of further tokens "
                                        << actual.prediction_loss << " for " << expected.prediction_loss;
}

TEST_F(PackedDeepSeek, FaultsAreCaught) {
  expect_caught<ops::AttentionForward>("attention across documents",
                                       [](ops::AttentionForward& op) { op.documents = {}; });
  expect_caught<ops::AttentionBackward>("gradients across documents",
                                        [](ops::AttentionBackward& op) { op.documents = {}; });
  expect_caught<ops::ShiftTokens>("further tokens of the next document",
                                  [](ops::ShiftTokens& op) { op.documents = {}; });
}

/// A document's last two tokens have no token two or three further on that is the document's, as a sequence's have
/// none.
TEST_F(PackedDeepSeek, FurtherTokensOfADocumentAreThoseItHasAlone) {
  LlamaBatch packed = packed_batch();
  packed.batch = 1;
  for (auto* part : {&packed.tokens, &packed.targets, &packed.document_start})
    part->erase(part->begin(), part->begin() + 24);
  const auto part = [&](const std::vector<std::int32_t>& whole, std::int64_t begin, std::int64_t count) {
    return std::vector<std::int32_t>(whole.begin() + begin, whole.begin() + begin + count);
  };
  double sum = 0;
  for (const auto& [begin, count] : {std::pair{0, 13}, {13, 11}}) {
    const LlamaBatch alone{1, count, part(packed.tokens, begin, count), part(packed.targets, begin, count)};
    sum += oracle(alone).prediction_loss * static_cast<double>(counted_targets(alone));
  }
  EXPECT_NEAR(oracle(packed).prediction_loss, sum / static_cast<double>(counted_targets(packed)), 1e-6);
}

// ---- Qwen3 with experts ---------------------------------------------------------------------------------------------

/// How often an op ran, and how often it did not know where documents begin.
template <typename Op>
void expect_documents(const char* what) {
  int ran = 0;
  int unaware = 0;
  const ops::Backend backend = make_faulty_backend<Op>([&](Op& op) {
    if (op.qkv == nullptr) return;  // a plan
    ran += 1;
    unaware += op.documents.start == nullptr ? 1 : 0;
  });
  const DeepSeekConfig config = small_qwen3_moe();
  const LlamaBatch batch = packed_batch();
  const BatchShape shape = shape_of(batch);
  ModelRun run(make_deepseek(config, shape, {precision("bf16"), WeightCodes::cached, {}}), shape, backend);
  (void)model_step(run, random_weights(config), batch);
  EXPECT_GT(ran, 0) << what;
  EXPECT_EQ(unaware, 0) << what;
}

TEST(PackedQwen3Moe, AttentionKnowsTheDocuments) {
  expect_documents<ops::AttentionForward>("forward");
  expect_documents<ops::AttentionBackward>("backward");
}

}  // namespace
}  // namespace octet::test
