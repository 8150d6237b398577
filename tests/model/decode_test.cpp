// Decoding one token at a time against the training forward: the same logits at every position.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "model/agreement.h"
#include "model/faulty_backend.h"
#include "model/llama_decoder.h"

namespace octet::test {
namespace {

using ops::reference::LlamaBatch;
using ops::reference::Parameters;
using ops::reference::Vector;
using ops::reference::View;

/// A model with a decoder, planned and allocated.
class DecoderRun {
 public:
  DecoderRun(const LlamaConfig& config, const Parameters& weights, std::int64_t capacity,
             const PrecisionOptions& precision, const ops::Backend& backend)
      : model_(config, 1, capacity, {precision, WeightCodes::cached, {}}), decoder_(model_, capacity) {
    make_plan(backend);
    memory_ = std::make_unique<Memory>(planning_.finish(), backend.device().allocator());
    model_.allocate(*memory_, {.training = false});
    decoder_.allocate(*memory_);
    model_.prepare(backend.device());
    write_weights(backend.device(), model_, weights);
    run_ = std::make_unique<ops::Executor>(backend, *memory_);
    const ProgramScope program(*memory_, "cast_weights");
    model_.measure_weights(*run_);
    model_.cast_weights(*run_);
  }

  /// The logits [V] of what follows the token.
  Vector step(std::int32_t token) {
    const ProgramScope program(*memory_, "decode");
    const std::span<const bf16> logits = decoder_.step(*run_, token);
    Vector values;
    for (const bf16 value : logits) values.push_back(to_float(value));
    return values;
  }

 private:
  void make_plan(const ops::Backend& backend) {
    model_.allocate(planning_, {.training = false});
    decoder_.allocate(planning_);  // its dry run must not count as a position
    ops::Executor plan(backend, planning_);
    {
      const ProgramScope program(planning_, "decode");
      (void)decoder_.step(plan, 0);
    }
    const ProgramScope program(planning_, "cast_weights");
    model_.measure_weights(plan);
    model_.cast_weights(plan);
  }

  Memory planning_;  // destroyed after the buffers that it gave out
  std::unique_ptr<Memory> memory_;
  Llama model_;
  LlamaDecoder decoder_;
  std::unique_ptr<ops::Executor> run_;
};

/// The lowest SQNR of all positions' logits against those of the training forward, in dB.
double worst_position(const LlamaConfig& config, const char* recipe, const ops::Backend& decoding) {
  constexpr std::int64_t length = 40;
  const auto backend = ops::make_cpu_backend(2);
  const Parameters weights = random_weights(config);
  const LlamaBatch batch = random_batch(config, {1, length});
  ModelRun forward(config, {1, length}, precision(recipe), *backend);
  forward.set_weights(weights);
  forward.keep_logits();
  forward.validate(batch);
  DecoderRun decoder(config, weights, length, precision(recipe), decoding);
  double worst = std::numeric_limits<double>::infinity();
  for (std::int64_t position = 0; position < length; ++position) {
    const View expected = ops::reference::row(View(forward.logits()), position, config.vocab);
    const Vector actual = decoder.step(batch.tokens[static_cast<std::size_t>(position)]);
    worst = std::min(worst, sqnr(actual, expected));
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
constexpr double kBf16Decoding = 35;
// A value near the middle between two codes may fall the other way, and every later layer sees it.
constexpr double kFp8Decoding = 17;

TEST(Decode, GivesTheLogitsOfTheTrainingForwardAtEveryPosition) {
  const auto backend = ops::make_cpu_backend(2);
  for (const LlamaConfig& config : {small_llama(), scaled_rope(), small_qwen3()}) {
    const double in_bf16 = worst_position(config, "bf16", *backend);
    const double in_fp8 = worst_position(config, "rowwise", *backend);  // row scales: a token's codes are its own
    fmt::print("worst position: {:.1f} dB in bf16, {:.1f} dB in rowwise\n", in_bf16, in_fp8);
    EXPECT_GE(in_bf16, kBf16Decoding);
    EXPECT_GE(in_fp8, kFp8Decoding);
  }
}

template <typename Op>
void expect_caught(const char* what, Fault<Op> fault, const LlamaConfig& config = small_llama()) {
  EXPECT_LT(worst_position(config, "bf16", make_faulty_backend<Op>(std::move(fault))), kBf16Decoding) << what;
}

TEST(DecodeFaults, PositionsAndCache) {
  expect_caught<ops::Rope>("every token at position 0", [](ops::Rope& op) { op.offset = 0; });
  expect_caught<ops::HeadNormRope>(
      "every normed token at position 0", [](ops::HeadNormRope& op) { op.shape.offset = 0; }, small_qwen3());
  expect_caught<ops::AttentionDecode>("the newest key left out",
                                      [](ops::AttentionDecode& op) { op.length -= op.length > 1 ? 1 : 0; });
  expect_caught<ops::AppendToCache>("the cache written at the wrong place",
                                    [](ops::AppendToCache& op) { op.position = op.position == 5 ? 4 : op.position; });
}

TEST(Decode, FedMoreThanTheCacheHoldsFails) {
  const auto backend = ops::make_cpu_backend(1);
  DecoderRun decoder(small_llama(), random_weights(small_llama()), 2, precision("bf16"), *backend);
  (void)decoder.step(1);
  (void)decoder.step(2);
  EXPECT_THROW((void)decoder.step(3), Failure);
}

}  // namespace
}  // namespace octet::test
