// Decoding against the training forward: the same logits at every position, read one token at a time or many at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "model/agreement.h"
#include "model/decoder_run.h"
#include "model/faulty_backend.h"

namespace octet::test {
namespace {

using ops::reference::LlamaBatch;
using ops::reference::Vector;
using ops::reference::View;

constexpr std::int64_t kLength = 24;

std::vector<std::int32_t> random_tokens(std::int64_t vocab) {
  LlamaConfig vocabulary;
  vocabulary.vocab = vocab;
  return random_batch(vocabulary, {1, kLength}).tokens;
}

/// The logits [kLength, V] of the training forward.
template <typename Config>
Vector forward_logits(const Config& config, const char* recipe, const std::vector<std::int32_t>& tokens) {
  const auto backend = ops::make_cpu_backend(2);
  const BatchShape shape{1, kLength};
  SmallModel small = make_small(config, shape, {precision(recipe), WeightCodes::cached, {}});
  ModelRun forward(std::move(small.model), shape, *backend);
  write_biases(backend->device(), forward.model(), small.biases);
  forward.set_weights(small.weights);
  forward.keep_logits();
  LlamaBatch batch{.batch = 1, .seq_len = kLength, .tokens = tokens, .targets = tokens};
  forward.validate(batch);
  return forward.logits();
}

template <typename Config>
DecoderRun make_decoder(const Config& config, const char* recipe, const ops::Backend& backend,
                        const std::vector<std::int64_t>& prompts = {}) {
  const ModelOptions options{precision(recipe), WeightCodes::forward_only, {}};
  return {make_small(config, {1, kLength}, options), kLength, backend, prompts};
}

/// The lowest SQNR of all positions' logits against those of the training forward, in dB. The first `prompt` tokens are
/// read at once, the others one by one.
template <typename Config>
double worst_position(const Config& config, const char* recipe, const ops::Backend& decoding, std::int64_t prompt) {
  const std::vector<std::int32_t> tokens = random_tokens(config.vocab);
  const Vector expected = forward_logits(config, recipe, tokens);
  DecoderRun decoder = make_decoder(config, recipe, decoding, {prompt});
  double worst = std::numeric_limits<double>::infinity();
  for (std::int64_t position = prompt - 1; position < kLength; ++position) {
    const auto read = std::span(tokens).first(static_cast<std::size_t>(position + 1));
    const Vector actual = position + 1 == prompt ? decoder.prefill(read) : decoder.step(read.back());
    worst = std::min(worst, sqnr(actual, ops::reference::row(View(expected), position, config.vocab)));
  }
  return worst;
}

LlamaConfig scaled_rope() {
  LlamaConfig config = small_llama();
  config.kv_heads = 1;
  config.tied_embeddings = true;
  config.rope_scaling = ops::RopeScaling{4, 1, 3, 16};
  return config;
}

// Both round to bf16 at the same places and sum in other orders.
constexpr double kBf16Decoding = 34;
// A value near the middle between two codes may fall the other way, and every later layer sees it.
constexpr double kFp8Decoding = 17;

template <typename Config>
void expect_the_logits_of_the_forward(const Config& config) {
  const auto backend = ops::make_cpu_backend(2);
  for (const std::int64_t prompt : {std::int64_t{1}, std::int64_t{7}, kLength}) {
    const double in_bf16 = worst_position(config, "bf16", *backend, prompt);
    const double in_fp8 =
        worst_position(config, "rowwise", *backend, prompt);  // row scales: a token's codes are its own
    fmt::print("prompt of {}: worst position {:.1f} dB in bf16, {:.1f} dB in rowwise\n", prompt, in_bf16, in_fp8);
    EXPECT_GE(in_bf16, kBf16Decoding);
    EXPECT_GE(in_fp8, kFp8Decoding);
  }
}

TEST(Decode, LlamaGivesTheLogitsOfTheTrainingForwardAtEveryPosition) {
  expect_the_logits_of_the_forward(small_llama());
  expect_the_logits_of_the_forward(scaled_rope());
}

TEST(Decode, Qwen3GivesTheLogitsOfTheTrainingForwardAtEveryPosition) {
  expect_the_logits_of_the_forward(small_qwen3());
  expect_the_logits_of_the_forward(small_qwen3_moe());
}

TEST(Decode, DeepSeekGivesTheLogitsOfTheTrainingForwardAtEveryPosition) {
  expect_the_logits_of_the_forward(small_deepseek());
}

/// What the decoder writes where it always takes the likeliest token.
template <typename Config>
std::vector<std::int32_t> greedy_text(const Config& config, const char* recipe, std::int64_t prompt) {
  const auto backend = ops::make_cpu_backend(2);
  std::vector<std::int32_t> tokens = random_tokens(config.vocab);
  tokens.resize(static_cast<std::size_t>(prompt));
  DecoderRun decoder = make_decoder(config, recipe, *backend, {prompt});
  Vector logits = decoder.prefill(tokens);
  while (std::ssize(tokens) < kLength) {
    tokens.push_back(static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
    logits = decoder.step(tokens.back());
  }
  return tokens;
}

/// Every token that greedy decoding takes is the likeliest of the training forward on the text so far, up to
/// `allowance` of the spread between its likeliest and its mean logit, where two are about equal.
template <typename Config>
void expect_greedy_text(const Config& config, const char* recipe, double allowance) {
  constexpr std::int64_t prompt = 5;
  const std::vector<std::int32_t> tokens = greedy_text(config, recipe, prompt);
  const Vector logits = forward_logits(config, recipe, tokens);
  for (std::int64_t position = prompt - 1; position + 1 < kLength; ++position) {
    const View row = ops::reference::row(View(logits), position, config.vocab);
    const double most = *std::ranges::max_element(row);
    double mean = 0;
    for (const double value : row) mean += value / static_cast<double>(row.size());
    const double taken = row[static_cast<std::size_t>(tokens[static_cast<std::size_t>(position + 1)])];
    EXPECT_LE(most - taken, allowance * (most - mean)) << recipe << " at " << position;
  }
}

TEST(Decode, GreedyTextIsTheArgmaxOfTheForward) {
  for (const auto& [recipe, allowance] : {std::pair{"bf16", 0.02}, std::pair{"rowwise", 0.15}}) {
    expect_greedy_text(small_llama(), recipe, allowance);
    expect_greedy_text(small_deepseek(), recipe, allowance);
  }
}

TEST(Decode, ASequenceBeginsAnewWithEachPrompt) {
  const auto backend = ops::make_cpu_backend(2);
  const std::vector<std::int32_t> tokens = random_tokens(small_llama().vocab);
  const auto prompt = std::span(tokens).first(9);
  DecoderRun decoder = make_decoder(small_llama(), "rowwise", *backend, {9, kLength});
  const Vector first = decoder.prefill(prompt);
  const Vector next = decoder.step(3);
  (void)decoder.prefill(tokens);
  EXPECT_EQ(decoder.prefill(prompt), first);
  EXPECT_EQ(decoder.step(3), next);
}

template <typename Op, typename Config>
void expect_caught(const char* what, const Config& config, std::int64_t prompt, Fault<Op> fault) {
  const ops::Backend backend = make_faulty_backend<Op>(std::move(fault));
  EXPECT_LT(worst_position(config, "bf16", backend, prompt), kBf16Decoding) << what;
}

TEST(DecodeFaults, PositionsAndCache) {
  expect_caught<ops::Rope>("every token at position 0", small_llama(), 1, [](ops::Rope& op) { op.offset = 0; });
  expect_caught<ops::Rope>("steps one position too near", small_llama(), 7,
                           [](ops::Rope& op) { op.offset -= op.offset > 0 ? 1 : 0; });
  expect_caught<ops::HeadNormRope>("every normed token at position 0", small_qwen3(), 1,
                                   [](ops::HeadNormRope& op) { op.shape.offset = 0; });
  expect_caught<ops::HeadNormRope>("normed steps one position too near", small_qwen3_moe(), 7,
                                   [](ops::HeadNormRope& op) { op.shape.offset -= op.shape.offset > 0 ? 1 : 0; });
  expect_caught<ops::AttentionDecode>("the newest key left out", small_llama(), 1,
                                      [](ops::AttentionDecode& op) { op.length -= op.length > 1 ? 1 : 0; });
  expect_caught<ops::AppendToCache>("a token written over its neighbour", small_llama(), 1,
                                    [](ops::AppendToCache& op) { op.position = op.position == 5 ? 4 : op.position; });
  expect_caught<ops::AppendToCache>("a prompt written one position too far", small_llama(), 7,
                                    [](ops::AppendToCache& op) { op.position = op.seq_len > 1 ? 1 : op.position; });
}

TEST(DecodeFaults, LatentAttentionAndRouter) {
  const float* table = nullptr;  // where the first token's row is
  expect_caught<ops::MlaAssemble>("every token at position 0", small_deepseek(), 1, [&table](ops::MlaAssemble& op) {
    if (table == nullptr) table = op.cos_sin;
    if (op.cos_sin != nullptr) op.cos_sin = table;
  });
  expect_caught<ops::MlaAssemble>("steps one position too near", small_deepseek(), 7, [](ops::MlaAssemble& op) {
    if (op.cos_sin != nullptr && op.shape.rows == 1) op.cos_sin -= op.shape.rope_dim;
  });
  expect_caught<ops::AppendToCache>("a token written over its neighbour", small_deepseek(), 7,
                                    [](ops::AppendToCache& op) { op.position = op.position == 9 ? 8 : op.position; });
  expect_caught<ops::Route>("the router's bias ignored", small_deepseek(), 7,
                            [](ops::Route& op) { op.bias = nullptr; });
}

TEST(Decode, FedMoreThanTheCacheHoldsFails) {
  const auto backend = ops::make_cpu_backend(1);
  DecoderRun decoder(make_small(small_llama(), {1, 2}, {precision("bf16"), WeightCodes::cached, {}}), 2, *backend);
  (void)decoder.step(1);
  (void)decoder.step(2);
  EXPECT_THROW((void)decoder.step(3), Failure);
}

}  // namespace
}  // namespace octet::test
