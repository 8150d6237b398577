// Steps that are replayed from graphs leave the bits that steps run op by op leave, and are replayed only where nobody
// watches.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/host_access.h"
#include "train/recording_backend.h"
#include "train/small_engine.h"

namespace octet::test {
namespace {

constexpr int kSteps = 6;

using Overrides = std::vector<std::string>;

Engine recording_engine(Overrides overrides) {
  overrides.emplace_back("data.validation=validation.tok");  // so that validation is planned
  return small_engine(small_config(overrides).config, make_recording_backend());
}

Engine plain_engine(Overrides overrides) {
  overrides.emplace_back("runtime.graphs=off");
  return recording_engine(std::move(overrides));
}

RecordingDevice& device_of(const Engine& engine) {
  return static_cast<RecordingDevice&>(engine.backend().device());
}

void fill_tokens(Engine& engine, std::int32_t seed) {
  std::ranges::generate(engine.inputs(), [&] { return seed = (seed * 37 + 11) % 256; });
  std::ranges::generate(engine.targets(), [&] { return seed = (seed * 29 + 7) % 256; });
}

/// What some steps leave behind. Gradients show in the norms and the parameters.
struct Trajectory {
  std::vector<double> losses, norms;
  std::vector<std::vector<std::byte>> parameters;
  friend bool operator==(const Trajectory&, const Trajectory&) = default;
};

/// Steps on other tokens each; `before_step` sees the engine and the number of the step.
template <typename BeforeStep>
Trajectory train_watched(Engine& engine, const BeforeStep& before_step) {
  Trajectory trajectory;
  for (int step = 1; step <= kSteps; ++step) {
    before_step(engine, step);
    fill_tokens(engine, step);
    const StepOutcome outcome = engine.compute_gradients();
    trajectory.losses.push_back(outcome.loss);
    trajectory.norms.push_back(outcome.grad_norm);
    engine.update(step, 1e-2, outcome.grad_norm);
  }
  for (const Slab& slab : engine.model().parameters().slabs()) {
    const ops::HostBytes values(engine.backend().device(), slab.values());
    trajectory.parameters.emplace_back(values.bytes().begin(), values.bytes().end());
  }
  return trajectory;
}

Trajectory train_on_tokens(Engine& engine) {
  return train_watched(engine, [](Engine&, int) {});
}

/// Configurations whose steps have other ops or other arguments.
class CapturedBits : public testing::TestWithParam<Overrides> {};
INSTANTIATE_TEST_SUITE_P(
    Engine, CapturedBits,
    testing::Values(Overrides{}, Overrides{"training.accumulate=3"}, Overrides{"precision.recipe=rowwise"},
                    Overrides{"precision.recipe=rowwise", "precision.weight_codes=per_use", "training.accumulate=3"},
                    Overrides{"precision.recipe=tensorwise", "training.recompute=full"},
                    Overrides{"optimizer.parameters=bf16", "optimizer.moments=bf16"}),
    [](const auto& overrides) { return "Case" + std::to_string(overrides.index); });

TEST_P(CapturedBits, AreThoseOfPlainExecution) {
  Engine plain = plain_engine(GetParam());
  Engine captured = recording_engine(GetParam());
  EXPECT_EQ(train_on_tokens(captured), train_on_tokens(plain));
  EXPECT_EQ(captured.captured_step().replayed_steps(), kSteps - 2);
  EXPECT_EQ(plain.captured_step().replayed_steps(), 0);
}

TEST_P(CapturedBits, AreNotDisturbedByValidation) {
  std::vector<double> losses, plain_losses;
  const auto validating = [](std::vector<double>& into) {
    return [&into](Engine& engine, int) { into.push_back(engine.validate()); };
  };
  Engine plain = plain_engine(GetParam());
  Engine captured = recording_engine(GetParam());
  EXPECT_EQ(train_watched(captured, validating(losses)), train_watched(plain, validating(plain_losses)));
  EXPECT_EQ(losses, plain_losses);
  EXPECT_EQ(captured.captured_step().replayed_steps(), kSteps - 2);
}

TEST_P(CapturedBits, AreFoundWrongWithAHostValueInAGraph) {
  Engine plain = plain_engine(GetParam());
  Engine captured = recording_engine(GetParam());
  device_of(captured).keeps_scalars = true;
  EXPECT_NE(train_on_tokens(captured), train_on_tokens(plain));
}

TEST_P(CapturedBits, ComeWithTheCountsOfPlainExecution) {
  Engine plain = plain_engine(GetParam());
  Engine captured = recording_engine(GetParam());
  (void)train_on_tokens(plain);
  (void)train_on_tokens(captured);
  EXPECT_EQ(captured.executor().fp8_codes_used(), plain.executor().fp8_codes_used());
  EXPECT_EQ(captured.measured_peak(), plain.measured_peak());
  const auto& expected = plain.executor().totals();
  ASSERT_EQ(captured.executor().totals().size(), expected.size());
  for (const auto& [op, totals] : captured.executor().totals()) {
    EXPECT_EQ(totals.calls, expected.at(op).calls) << op;
    EXPECT_EQ(totals.flops, expected.at(op).flops) << op;
    EXPECT_EQ(totals.bytes, expected.at(op).bytes) << op;
  }
}

TEST(CapturedStep, StartsAGraphForEachPart) {
  for (const int accumulate : {1, 3}) {
    Engine engine = recording_engine({fmt::format("training.accumulate={}", accumulate)});
    RecordingDevice& device = device_of(engine);
    std::vector<std::int64_t> ops, replays;
    (void)train_watched(engine, [&](Engine&, int) {
      ops.push_back(std::exchange(device.ops_run, 0));
      replays.push_back(std::exchange(device.replays, 0));
    });
    const std::int64_t copies = 2 * (accumulate - 1);  // tokens of later micro-batches
    EXPECT_GT(ops[1], 50) << "the first step";
    EXPECT_EQ(engine.captured_step().launches(), ops[1] - copies);
    EXPECT_EQ(replays[1], 0);
    for (const std::size_t step : {2U, 3U, 5U}) {
      EXPECT_EQ(ops[step], copies) << step;
      EXPECT_EQ(replays[step], accumulate + 2) << step;
    }
  }
}

TEST(CapturedStep, IsOffWhereTheUserSaysSoOrTheDeviceCannot) {
  EXPECT_FALSE(plain_engine({}).captured_step().enabled());
  EXPECT_FALSE(small_engine(small_config().config).captured_step().enabled()) << "the CPU";
  EXPECT_TRUE(recording_engine({}).captured_step().enabled());
}

// ---- whoever watches ------------------------------------------------------------------------------------------------

class SilentTracer : public ops::Tracer {
 public:
  void on_op(ops::TracedOp) override {}
  void on_device_times(std::span<const ops::TraceInterval>) override {}
  void on_result(std::string_view) override {}
  void begin_span(ops::SpanKind, std::string_view) override { ++spans; }
  void end_span() override {}
  int spans = 0;
};

/// Whether each step was replayed.
template <typename BeforeStep>
std::vector<bool> replayed_steps(Engine& engine, const BeforeStep& before_step) {
  std::vector<bool> replayed;
  const Trajectory watched = train_watched(engine, [&](Engine& each, int step) {
    if (step > 1) replayed.push_back(each.captured_step().replayed());
    before_step(each, step);
  });
  replayed.push_back(engine.captured_step().replayed());
  Engine plain = plain_engine({});
  EXPECT_EQ(watched, train_on_tokens(plain)) << "watched or not, the bits are the same";
  return replayed;
}

TEST(CapturedStep, RunsOpsForAnObserver) {
  Engine engine = recording_engine({});
  std::vector<std::string> seen;
  const auto replayed = replayed_steps(engine, [&](Engine& each, int step) {
    each.executor().set_observer({});
    if (step == 5) each.executor().set_observer([&](std::string_view name, const Tensor&) { seen.emplace_back(name); });
  });
  EXPECT_EQ(replayed, (std::vector<bool>{false, false, true, true, false, true}));
  EXPECT_GT(seen.size(), 10U);
}

TEST(CapturedStep, IsCapturedLaterForAnObserverOfTheSecondStep) {
  Engine engine = recording_engine({});
  const auto replayed = replayed_steps(engine, [&](Engine& each, int step) {
    each.executor().set_observer(step == 2 ? ops::Observer([](std::string_view, const Tensor&) {}) : ops::Observer());
  });
  EXPECT_EQ(replayed, (std::vector<bool>{false, false, false, true, true, true}));
}

TEST(CapturedStep, RunsOpsForATracer) {
  Engine engine = recording_engine({});
  SilentTracer tracer;
  const auto replayed = replayed_steps(
      engine, [&](Engine& each, int step) { each.executor().set_tracer(step == 4 ? &tracer : nullptr); });
  EXPECT_EQ(replayed, (std::vector<bool>{false, false, true, false, true, true}));
  EXPECT_GT(tracer.spans, 5);
}

TEST(CapturedStep, RunsOpsOnceTheyAreTimed) {
  Engine engine = recording_engine({});
  const auto replayed = replayed_steps(engine, [](Engine& each, int step) {
    if (step == 4) each.executor().time_ops();
  });
  EXPECT_EQ(replayed, (std::vector<bool>{false, false, true, false, false, false}));
}

TEST(CapturedStep, RunsOpsOnceCastsAreCounted) {
  const Overrides rowwise{"precision.recipe=rowwise"};
  Engine plain = plain_engine(rowwise);
  Engine engine = recording_engine(rowwise);
  const auto from_fourth = [](Engine& each, int step) {
    if (step == 4) each.watch_casts();
  };
  EXPECT_EQ(train_watched(engine, from_fourth), train_watched(plain, from_fourth));
  EXPECT_EQ(engine.captured_step().replayed_steps(), 1);
  EXPECT_EQ(engine.cast_counts().elements, plain.cast_counts().elements);
  EXPECT_GT(engine.cast_counts().elements, 0U);
}

// ---- steps without an end -------------------------------------------------------------------------------------------

/// Gradients that no update follows, as of a step with a NaN that is left out, at any point.
TEST(CapturedStep, OutlivesStepsWithoutAnUpdate) {
  Engine plain = plain_engine({});
  const Trajectory expected = train_on_tokens(plain);
  for (int left = 1; left <= 4; ++left) {
    Engine engine = recording_engine({});
    const Trajectory trained = train_watched(engine, [left](Engine& each, int step) {
      if (step == left) (void)each.compute_gradients();
    });
    EXPECT_EQ(trained, expected) << left;
    EXPECT_EQ(engine.captured_step().replayed_steps(), kSteps - 2) << left;
    // All parts in one step: memory that one requests may be given back by the next.
    EXPECT_EQ(device_of(engine).captures, left == 2 ? 2 + 3 : 3) << left;
  }
}

// ---- captures that fail ---------------------------------------------------------------------------------------------

TEST(CapturedStep, SaysWhyItFailedAndWhatToDo) {
  for (const std::string_view op : {ops::Gemm::name, ops::AdamW::name}) {
    Engine engine = recording_engine({});
    device_of(engine).cannot_record = op;
    try {
      (void)train_on_tokens(engine);
      FAIL() << "captured " << op;
    } catch (const Failure& failure) {
      const std::string message = failure.what();
      EXPECT_NE(message.find(fmt::format("{} while ops are captured", op)), std::string::npos) << message;
      EXPECT_NE(message.find("runtime.graphs = \"off\""), std::string::npos) << message;
    }
    EXPECT_NO_THROW(device_of(engine).finish()) << "the device captures no longer";
  }
}

TEST(CapturedStep, IsRefusedByADeviceWithoutGraphs) {
  const auto cpu = ops::make_cpu_backend(1);
  EXPECT_FALSE(cpu->device().can_capture());
  EXPECT_THROW(cpu->device().begin_capture(), Failure);
}

}  // namespace
}  // namespace octet::test
