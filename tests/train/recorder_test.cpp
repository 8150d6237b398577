// Records hold what the engine holds, are planned to the byte, and follow a resumed run.
#include "train/recorder.h"

#include <gtest/gtest.h>

#include "train/small_run.h"

namespace octet::test {
namespace {

using Steps = std::vector<std::int64_t>;

Steps steps_of(const std::filesystem::path& run) {
  Steps steps;
  for (const auto& [step, file] : list_records(run)) steps.push_back(step);
  return steps;
}

/// Rows [begin, begin + rows) of a parameter's gradient, as bytes.
std::span<const std::byte> gradient_of(const Engine& engine, std::string_view name, std::int64_t begin,
                                       std::int64_t rows) {
  for (const Slab& slab : engine.model().parameters().slabs()) {
    for (std::size_t i = 0; i < slab.parameters().size(); ++i) {
      if (slab.parameters()[i].name != name) continue;
      const Tensor view = slab.gradient(i).row_range(begin, rows);
      return {static_cast<const std::byte*>(view.raw()), view.bytes()};
    }
  }
  throw Failure("the small model has no {}", name);
}

class RecorderTest : public SmallRuns {
 protected:
  Engine engine_ = small_engine(small_config().config, true);
};

TEST_F(RecorderTest, KeepsGradientsAndWeightsUnderTheirCheckpointNames) {
  engine_.update(3, 1e-2, engine_.compute_gradients().grad_norm);
  const Recorder recorder(path("run"), {true, true, 1}, engine_.backend().device(), engine_.model().parameters());
  recorder.record(3);
  const SafetensorsFile file = SafetensorsFile::open(path("run/records/step-000003.safetensors"));
  EXPECT_TRUE(file.verify());
  EXPECT_EQ(file.metadata().at("step"), "3");
  const FileTensor* wk = file.find("gradient.layers.1.attention.wk.weight");
  ASSERT_NE(wk, nullptr);
  EXPECT_EQ(wk->shape, (std::vector<std::uint64_t>{16, 32}));  // one key head of 16, width 32
  EXPECT_TRUE(std::ranges::equal(wk->bytes, gradient_of(engine_, "layers.1.attention.wqkv.weight", 32, 16)));
  const FileTensor* gain = file.find("weight.layers.0.ffn_norm.weight");
  ASSERT_NE(gain, nullptr);
  EXPECT_EQ(gain->shape, (std::vector<std::uint64_t>{32}));
  EXPECT_TRUE(std::ranges::equal(gain->bytes, std::as_bytes(master_of(engine_, "layers.0.ffn_norm.weight"))));
}

TEST_F(RecorderTest, KeepsGradientsInTheDtypeTheyWereComputedIn) {
  Engine engine = small_engine(small_config({"optimizer.gradients=bf16"}).config, true);
  engine.update(1, 1e-2, engine.compute_gradients().grad_norm);
  Recorder(path("run"), {true, false, 1}, engine.backend().device(), engine.model().parameters()).record(1);
  const SafetensorsFile file = SafetensorsFile::open(path("run/records/step-000001.safetensors"));
  const FileTensor* wo = file.find("gradient.layers.1.attention.wo.weight");
  ASSERT_NE(wo, nullptr);
  EXPECT_EQ(wo->dtype, FileDType::bf16);
  EXPECT_TRUE(std::ranges::equal(wo->bytes, gradient_of(engine, "layers.1.attention.wo.weight", 0, 32)));
  const FileTensor* gain = file.find("gradient.norm.weight");
  ASSERT_NE(gain, nullptr);
  EXPECT_EQ(gain->dtype, FileDType::f32);
  EXPECT_TRUE(std::ranges::equal(gain->bytes, gradient_of(engine, "norm.weight", 0, 1)));
}

TEST_F(RecorderTest, KeepsTheModelsOrder) {
  Recorder(path("run"), {true, true, 1}, engine_.backend().device(), engine_.model().parameters()).record(1);
  std::vector<std::string> names;
  const SafetensorsFile file = SafetensorsFile::open(path("run/records/step-000001.safetensors"));
  for (const FileTensor& tensor : file.tensors()) names.push_back(tensor.name);
  ASSERT_EQ(names.size(), 42U);  // 2 * (3 + 2 * 9)
  EXPECT_EQ(names[0], "gradient.tok_embeddings.weight");
  EXPECT_EQ(names[1], "gradient.layers.0.attention.wq.weight");
  EXPECT_EQ(names[10], "gradient.layers.1.attention.wq.weight");
  EXPECT_EQ(names[21], "weight.tok_embeddings.weight");
  EXPECT_EQ(names[41], "weight.norm.weight");
}

TEST_F(RecorderTest, PlansTheBytesThatItWrites) {
  const Parameters& parameters = engine_.model().parameters();
  const auto plan_of = [&](RecordRequest request, std::int64_t first, std::int64_t last) {
    return Recorder(path("run"), request, engine_.backend().device(), parameters).plan(first, last);
  };
  const auto bytes = static_cast<std::uint64_t>(parameters.count()) * 4;
  EXPECT_EQ(plan_of({true, false, 1}, 1, 10).bytes(), 10 * bytes);
  EXPECT_EQ(plan_of({false, true, 3}, 1, 10).bytes(), 3 * bytes);
  EXPECT_EQ(plan_of({true, true, 3}, 4, 12).records, 3);  // 6, 9, 12
  EXPECT_EQ(plan_of({true, true, 3}, 4, 5).records, 0);
  EXPECT_EQ(plan_of({true, true, 3}, 4, 5).bytes_each, 2 * bytes);
  EXPECT_TRUE(plan_of({true, true, 3}, 4, 5).free_bytes.has_value());
}

TEST_F(RecorderTest, ARunKeepsTheStepsAskedFor) {
  TrainRequest wanted = request("every_2");
  wanted.record = {true, false, 2};
  (void)train(std::move(wanted));
  EXPECT_EQ(steps_of(path("every_2")), (Steps{2, 4}));
  (void)train(request("none"));
  EXPECT_EQ(steps_of(path("none")), Steps{});
  EXPECT_FALSE(std::filesystem::exists(path("none/records")));
}

/// What an interrupted run recorded after its last checkpoint goes, whether the step is recorded again or not.
TEST_F(RecorderTest, AResumedRunReplacesTheStepsItRepeats) {
  TrainRequest wanted = request("run", {"training.steps=2", "schedule.decay=constant"});
  wanted.record = {true, true, 1};
  (void)train(wanted);
  const auto record = [&](std::int64_t step) { return list_records(path("run")).at(step); };
  const std::string second = read_file(record(2));
  std::filesystem::copy_file(record(2), path("run/records/step-000003.safetensors"));
  std::filesystem::copy_file(record(2), path("run/records/step-000004.safetensors"));
  wanted.loaded = request("run", {"training.steps=4", "schedule.decay=constant"}).loaded;
  wanted.resume = Resume::must;
  wanted.record.every = 2;
  (void)train(wanted);
  EXPECT_EQ(steps_of(path("run")), (Steps{1, 2, 4}));
  EXPECT_TRUE(read_file(record(2)) == second);
  EXPECT_TRUE(read_file(record(4)) != second);
}

TEST_F(RecorderTest, OtherFilesAreNoRecords) {
  for (const char* name : {"step-.safetensors", "step-1a.safetensors", "step-000001.safetensors.partial", "notes"}) {
    make_directory(path("run/records"));
    std::ofstream(path("run/records") / name) << "x";
  }
  EXPECT_EQ(steps_of(path("run")), Steps{});
  remove_records_after(path("run"), 0);
  EXPECT_TRUE(std::filesystem::exists(path("run/records/notes")));
}

}  // namespace
}  // namespace octet::test
