// Two runs against each other: the same, and different in one planted place.
#include "train/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/ulp.h"
#include "train/small_run.h"

namespace octet::test {
namespace {

constexpr RecordRequest kAll = {true, true, 1};

class CompareTest : public SmallRuns {
 protected:
  void run(std::string_view name, std::vector<std::string> overrides = {}, RecordRequest record = kAll) const {
    TrainRequest wanted = request(name, std::move(overrides));
    wanted.record = record;
    (void)train(std::move(wanted));
  }

  [[nodiscard]] RunComparison compare(std::uint64_t tolerance_ulp = 0) const {
    return compare_run_directories(path("a"), path("b"), tolerance_ulp);
  }

  /// Changes element `index` of a tensor in the record of b's step, checksum included.
  void alter(std::int64_t step, std::string_view tensor, std::size_t index,
             const std::function<float(float)>& change) const {
    const std::filesystem::path file = list_records(path("b")).at(step);
    const SafetensorsFile record = SafetensorsFile::open(file);
    std::vector<FileTensor> tensors(record.tensors().begin(), record.tensors().end());
    const auto found = std::ranges::find(tensors, tensor, &FileTensor::name);
    ASSERT_NE(found, tensors.end()) << tensor;
    std::vector<std::byte> bytes(found->bytes.begin(), found->bytes.end());
    float value = 0;
    std::memcpy(&value, bytes.data() + index * sizeof(float), sizeof(float));
    value = change(value);
    std::memcpy(bytes.data() + index * sizeof(float), &value, sizeof(float));
    found->bytes = bytes;
    write_safetensors(file, tensors, {{"format", "octet"}, {"step", std::to_string(step)}});
  }

  /// Replaces what a line of b's metrics.jsonl has for a metric.
  void alter_metric(std::int64_t step, const char* metric, const nlohmann::json& value) const {
    std::string text;
    std::ifstream lines(path("b") / "metrics.jsonl");
    for (std::string line; std::getline(lines, line);) {
      auto record = nlohmann::ordered_json::parse(line);
      if (record.at("step") == step) record[metric] = value;
      text += record.dump() + "\n";
    }
    write_file_atomically(path("b") / "metrics.jsonl", text);
  }
};

float next(float value) {
  return std::nextafter(value, std::numeric_limits<float>::infinity());
}

TEST_F(CompareTest, EqualRunsAreTheSame) {
  run("a");
  run("b");
  const RunComparison found = compare();
  EXPECT_TRUE(found.same());
  EXPECT_TRUE(found.config.empty() && found.origins.empty() && found.notes.empty());
  EXPECT_EQ(found.metrics.common_steps, 4);
  EXPECT_EQ(found.records.common_steps, 4);
  EXPECT_EQ(found.records.compared_tensors, 4 * 42);
}

TEST_F(CompareTest, AnotherSeedIsSeenInTheFirstLossAndNamed) {
  run("a");
  run("b", {"training.seed=2"});
  const RunComparison found = compare();
  ASSERT_EQ(found.config.size(), 1U);
  EXPECT_EQ(found.config[0].key, "training.seed");
  EXPECT_EQ(found.config[0].left, "1");
  EXPECT_EQ(found.config[0].right, "2");
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_EQ(found.notes[0], "training.seed differs: the runs begin with other weights");
  EXPECT_EQ(found.metrics.differing_steps, 4);
  EXPECT_EQ(found.records.first->differing_tensors, 42);
  EXPECT_EQ(found.first_difference().step, 1);
  EXPECT_EQ(found.first_difference().what, "loss");
}

TEST_F(CompareTest, AnotherRecipeIsNamed) {
  run("a", {"precision.recipe=bf16"});
  run("b", {"precision.recipe=rowwise"});
  const RunComparison found = compare();
  ASSERT_EQ(found.config.size(), 1U);
  EXPECT_EQ(found.config[0].key, "precision.recipe");
  EXPECT_FALSE(found.same());
}

TEST_F(CompareTest, OneFlippedBitIsFoundWhereItIs) {
  run("a");
  run("b");
  // The first layer's w2 is [32, 64]; the lowest bit of one element, and more later in the model and in time.
  alter(2, "weight.layers.0.feed_forward.w2.weight", 5 * 64 + 7, next);
  alter(2, "weight.layers.0.feed_forward.w2.weight", 9 * 64 + 1, [](float value) { return value * 2; });
  alter(2, "weight.norm.weight", 3, next);
  alter(3, "gradient.tok_embeddings.weight", 0, [](float) { return 1.0F; });
  const RunComparison found = compare();
  EXPECT_FALSE(found.metrics.first);
  ASSERT_TRUE(found.records.first);
  const TensorDifference& first = *found.records.first;
  EXPECT_EQ(first.step, 2);
  EXPECT_EQ(first.tensor, "weight.layers.0.feed_forward.w2.weight");
  EXPECT_EQ(first.row, 5);
  EXPECT_EQ(first.column, 7);
  EXPECT_EQ(first.ulp, 1U);
  EXPECT_EQ(first.right, next(static_cast<float>(first.left)));
  EXPECT_EQ(first.differing_elements, 2);
  EXPECT_EQ(first.elements, 32 * 64);
  EXPECT_EQ(first.largest_relative, 0.5);  // |x - 2x| / |2x|
  EXPECT_EQ(first.differing_tensors, 2);
  EXPECT_EQ(found.first_difference().step, 2);
  EXPECT_EQ(found.first_difference().what, "weight.layers.0.feed_forward.w2.weight");
}

TEST_F(CompareTest, AToleranceLetsSmallDifferencesPass) {
  run("a");
  run("b");
  alter(2, "gradient.norm.weight", 3, [](float value) { return next(next(value)); });
  EXPECT_FALSE(compare().same());
  EXPECT_FALSE(compare(1).same());
  EXPECT_TRUE(compare(2).same());
}

TEST_F(CompareTest, ATolerancePassesNoNaN) {
  run("a");
  run("b");
  alter(2, "gradient.norm.weight", 3, [](float) { return std::nanf(""); });
  const RunComparison found = compare(std::numeric_limits<std::uint64_t>::max());
  ASSERT_TRUE(found.records.first);
  EXPECT_EQ(found.records.first->ulp, kNoUlpDistance);
  EXPECT_TRUE(std::isnan(found.records.first->right));
  EXPECT_FALSE(found.records.first->largest_relative);
}

TEST_F(CompareTest, ALossThatDiffersByOneBit) {
  run("a");
  run("b");
  const double loss = io::read_run(path("a")).metrics[2].loss;
  alter_metric(3, "loss", std::nextafter(loss, 10.0));
  const RunComparison found = compare();
  ASSERT_TRUE(found.metrics.first);
  EXPECT_EQ(found.metrics.first->step, 3);
  EXPECT_EQ(found.metrics.first->metric, "loss");
  EXPECT_EQ(found.metrics.first->left, loss);
  EXPECT_EQ(found.metrics.first->ulp_f64(), 1U);
  EXPECT_LE(found.metrics.first->ulp_f32(), 1U);
  EXPECT_EQ(found.metrics.differing_steps, 1);
  EXPECT_TRUE(compare(1).same());
}

TEST_F(CompareTest, NaNLossesAreTheSameAsEachOtherAndAsNothingElse) {
  run("a", {"optimizer.lr=1e30", "training.on_nan=skip"});
  run("b", {"optimizer.lr=1e30", "training.on_nan=skip"});
  EXPECT_TRUE(compare().same());
  alter_metric(3, "grad_norm", 1.0);
  const RunComparison found = compare(1000);
  ASSERT_TRUE(found.metrics.first);
  EXPECT_EQ(found.metrics.first->metric, "grad_norm");
  EXPECT_TRUE(std::isnan(found.metrics.first->left));
  EXPECT_EQ(found.metrics.first->ulp_f32(), kNoUlpDistance);
}

/// Of one step the order is loss, gradients, gradient norm, weights, validation loss.
TEST_F(CompareTest, TheFirstDifferenceIsTheOneComputedFirst) {
  run("a");
  run("b");
  alter_metric(4, "val_loss", 1.0);
  EXPECT_EQ(compare().first_difference().what, "val_loss");
  alter(4, "weight.norm.weight", 0, next);
  EXPECT_EQ(compare().first_difference().what, "weight.norm.weight");
  alter_metric(4, "grad_norm", 1.0);
  EXPECT_EQ(compare().first_difference().what, "grad_norm");
  alter(4, "gradient.norm.weight", 0, next);
  EXPECT_EQ(compare().first_difference().what, "gradient.norm.weight");
  alter_metric(4, "loss", 1.0);
  EXPECT_EQ(compare().first_difference().what, "loss");
  alter(3, "weight.norm.weight", 0, next);
  EXPECT_EQ(compare().first_difference().step, 3);
}

TEST_F(CompareTest, ALongerRunIsTheSameInTheStepsOfBoth) {
  const std::vector<std::string> constant = {"schedule.decay=constant"};
  run("a", {"schedule.decay=constant", "training.steps=3"});
  run("b", {"schedule.decay=constant", "training.steps=5"});
  const RunComparison found = compare();
  EXPECT_TRUE(found.same());
  EXPECT_EQ(found.metrics.common_steps, 3);
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_TRUE(contains(found.notes[0], "left run has come to step 3, the right one to step 5"));
}

TEST_F(CompareTest, SaysWhichRecordsAreMissing) {
  run("a", {}, {});
  run("b", {}, {});
  EXPECT_TRUE(contains(compare().notes.at(0), "the runs keep no records"));
  std::filesystem::remove_all(path("b"));
  run("b", {}, {true, false, 2});
  EXPECT_TRUE(contains(compare().notes.at(0), "the left run keeps no records"));
  std::filesystem::remove_all(path("a"));
  run("a", {}, {true, true, 3});
  EXPECT_TRUE(contains(compare().notes.at(0), "the runs record different steps"));
  std::filesystem::remove_all(path("a"));
  run("a");
  const RunComparison found = compare();
  EXPECT_EQ(found.notes, (std::vector<std::string>{"only the left run records weights: train the other with --record "
                                                   "all"}));
  EXPECT_EQ(found.records.common_steps, 2);
  EXPECT_EQ(found.records.compared_tensors, 2 * 21);
  EXPECT_TRUE(found.same());
}

TEST_F(CompareTest, OfDifferentModelsComparesTheMetricsAlone) {
  run("a");
  run("b", {"model.ffn_dim=32"});
  const RunComparison found = compare();
  EXPECT_TRUE(contains(found.notes.at(0), "the runs train different models"));
  EXPECT_EQ(found.records.common_steps, 0);
  EXPECT_EQ(found.first_difference().what, "loss");
}

TEST_F(CompareTest, RefusesADamagedRecord) {
  run("a");
  run("b");
  const std::filesystem::path file = list_records(path("b")).at(1);
  std::string bytes = read_file(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  std::ofstream(file, std::ios::binary) << bytes;
  const std::string message = user_error([&] { (void)compare(); });
  EXPECT_TRUE(contains(message, file.string()));
  EXPECT_TRUE(contains(message, "does not match its checksum"));
}

TEST_F(CompareTest, RefusesRunsWithoutACommonStep) {
  run("a");
  run("b");
  std::ofstream(path("b") / "metrics.jsonl", std::ios::trunc).flush();
  EXPECT_TRUE(contains(user_error([&] { (void)compare(); }), "have no step in common"));
}

}  // namespace
}  // namespace octet::test
