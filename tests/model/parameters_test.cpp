// Slabs: where parameters lie, which checkpoint names cover which rows, and how weights start.
#include "model/parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "model/model_run.h"

namespace octet::test {
namespace {

Parameter matrix(std::string name, std::int64_t rows, std::int64_t cols) {
  return {std::move(name), rows, cols, 0, {0.02, 0}, GradientWrites::once, false, {}};
}

Parameter gain(std::string name, std::int64_t dim) {
  return {std::move(name), 1, dim, 0, {0, 1}, GradientWrites::added, false, {}};
}

TEST(Slab, ParametersAreAligned) {
  Slab slab("layers.0");
  EXPECT_EQ(slab.add(matrix("a.weight", 3, 50)), 0U);
  EXPECT_EQ(slab.add(matrix("b.weight", 2, 64)), 1U);
  EXPECT_EQ(slab.add(gain("norm.weight", 50)), 2U);
  EXPECT_EQ(slab.parameters()[0].offset, 0);
  EXPECT_EQ(slab.parameters()[1].offset, 256) << "150 elements, rounded up to 256 bytes of bf16";
  EXPECT_EQ(slab.parameters()[2].offset, 384);
  EXPECT_EQ(slab.numel(), 434);
}

TEST(Slab, GradientsOfADtypeLieTogether) {
  Slab slab("layers.0");
  (void)slab.add(matrix("a.weight", 3, 50));
  (void)slab.add(gain("norm.weight", 50));
  (void)slab.add(matrix("b.weight", 2, 64));
  Parameter in_parts = matrix("c.weight", 2, 8);
  in_parts.gradient_writes = GradientWrites::in_parts;
  (void)slab.add(in_parts);
  Parameter table = matrix("d.weight", 4, 8);
  table.gradient_writes = GradientWrites::rows_once;
  (void)slab.add(table);
  const std::vector<Parameter>& all = slab.parameters();
  EXPECT_EQ(all[0].gradient_offset, 0);
  EXPECT_EQ(all[1].gradient_offset, 0);
  EXPECT_EQ(all[2].gradient_offset, 256);
  EXPECT_EQ(all[3].gradient_offset, 128);
  EXPECT_EQ(all[4].gradient_offset, 384);

  const auto backend = ops::make_cpu_backend(1);
  Memory planning;
  slab.allocate(planning, {.gradients = DType::bf16});
  Memory memory(planning.finish(), backend->device().allocator());
  slab.allocate(memory, {.gradients = DType::bf16});
  const std::vector<Tensor> arrays = slab.gradients();
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_EQ(arrays[0].dtype(), DType::bf16);
  EXPECT_EQ(arrays[0].numel(), 416);
  EXPECT_EQ(arrays[1].dtype(), DType::f32);
  EXPECT_EQ(arrays[1].numel(), 144);
  EXPECT_EQ(slab.gradient(2).ptr<bf16>(), arrays[0].ptr<bf16>() + 256);
  EXPECT_EQ(slab.gradient(3).ptr<float>(), arrays[1].ptr<float>() + 128);

  // What begins a step leaves alone what is written whole, and clears everything else.
  std::fill_n(arrays[0].ptr<bf16>(), 416, to_bf16(1.0F));
  std::fill_n(arrays[1].ptr<float>(), 144, 1.0F);
  ops::Executor run(*backend, memory);
  slab.begin_gradients(run);
  for (std::int64_t i = 0; i < 416; ++i) {
    const bool whole = i < 150 || (i >= 256 && i < 384);
    EXPECT_EQ(to_float(arrays[0].ptr<bf16>()[i]), whole ? 1.0F : 0.0F) << i;
  }
  for (std::int64_t i = 0; i < 144; ++i) EXPECT_EQ(arrays[1].ptr<float>()[i], i < 128 ? 0.0F : 1.0F) << i;
}

TEST(Slab, AParameterWithoutPartsIsItsOwn) {
  Slab slab("layers.0");
  (void)slab.add(matrix("a.weight", 3, 50));
  ASSERT_EQ(slab.parameters()[0].parts.size(), 1U);
  EXPECT_EQ(slab.parameters()[0].parts[0].name, "a.weight");
  EXPECT_EQ(slab.parameters()[0].parts[0].rows, 3);
}

TEST(Slab, ViewsLieInTheSlabsWeightsAndGradients) {
  const auto backend = ops::make_cpu_backend(1);
  const ModelRun run(small_llama(), {1, 16}, precision("bf16"), *backend);
  for (const Slab& slab : run.model().parameters().slabs()) {
    for (std::size_t i = 0; i < slab.parameters().size(); ++i) {
      const Parameter& parameter = slab.parameters()[i];
      const ParameterView view = slab.view(i);
      EXPECT_EQ(view.weight.ptr<bf16>(), slab.weights().ptr<bf16>() + parameter.offset) << parameter.name;
      EXPECT_EQ(view.weight.rows(), parameter.rows) << parameter.name;
      EXPECT_EQ(slab.gradient(i).cols(), parameter.cols) << parameter.name;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.weight.raw()) % 256, 0U) << parameter.name;
    }
  }
}

TEST(LlamaSlabs, HoldEveryParameterOnceInOrderWithoutOverlap) {
  const auto backend = ops::make_cpu_backend(1);
  const ModelRun run(small_llama(), {1, 16}, precision("bf16"), *backend);
  const Parameters& parameters = run.model().parameters();
  std::map<std::string, std::int64_t> sizes;
  std::int64_t count = 0;
  for (const Slab& slab : parameters.slabs()) {
    std::int64_t end = 0;
    for (const Parameter& parameter : slab.parameters()) {
      EXPECT_GE(parameter.offset, end) << parameter.name;
      end = parameter.offset + parameter.numel();
      const bool table = parameter.name == "tok_embeddings.weight";
      const GradientWrites of_matrix = table ? GradientWrites::rows_once : GradientWrites::once;
      EXPECT_EQ(parameter.gradient_writes, parameter.rows == 1 ? GradientWrites::added : of_matrix) << parameter.name;
      EXPECT_TRUE(sizes.emplace(parameter.name, parameter.numel()).second) << parameter.name << " comes twice";
      count += parameter.numel();
    }
    EXPECT_EQ(end, slab.numel()) << slab.name();
  }
  EXPECT_EQ(sizes, ops::reference::llama_parameter_sizes(oracle_config(small_llama())));
  EXPECT_EQ(parameters.count(), count);
}

TEST(LlamaSlabs, PartsCoverTheRowsOfMergedMatrices) {
  const auto backend = ops::make_cpu_backend(1);
  const ModelRun run(small_llama(), {1, 16}, precision("bf16"), *backend);
  std::map<std::string, std::int64_t> rows_of_part;
  for (const Slab& slab : run.model().parameters().slabs()) {
    for (const Parameter& parameter : slab.parameters()) {
      std::int64_t covered = 0;
      for (const ParameterPart& part : parameter.parts) {
        covered += part.rows;
        rows_of_part[part.name] = part.rows;
      }
      EXPECT_EQ(covered, parameter.rows) << parameter.name;
    }
  }
  EXPECT_EQ(rows_of_part.at("layers.1.attention.wq.weight"), 64);
  EXPECT_EQ(rows_of_part.at("layers.1.attention.wk.weight"), 32);
  EXPECT_EQ(rows_of_part.at("layers.1.attention.wv.weight"), 32);
  EXPECT_EQ(rows_of_part.at("layers.1.feed_forward.w1.weight"), 96);
  EXPECT_EQ(rows_of_part.at("layers.1.feed_forward.w3.weight"), 96);
}

/// Master weights by name after initialize(seed).
std::map<std::string, std::vector<float>> initial_weights(const LlamaConfig& config, std::uint64_t seed) {
  const auto backend = ops::make_cpu_backend(1);
  const ModelRun run(config, {1, 16}, precision("bf16"), *backend);
  run.model().parameters().initialize(backend->device(), seed);
  std::map<std::string, std::vector<float>> weights;
  for (const Slab& slab : run.model().parameters().slabs()) {
    for (const Parameter& parameter : slab.parameters()) {
      const float* first = slab.master().ptr<float>() + parameter.offset;
      weights[parameter.name].assign(first, first + parameter.numel());
      const bf16* rounded = slab.weights().ptr<bf16>() + parameter.offset;
      for (std::int64_t i = 0; i < parameter.numel(); ++i) EXPECT_EQ(rounded[i].bits, to_bf16(first[i]).bits);
    }
  }
  return weights;
}

double standard_deviation(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(InitialWeights, SpreadAsTheirDepthAsks) {
  const auto weights = initial_weights(small_llama(), 1);
  const auto expect_spread = [&](const std::string& name, double expected) {
    const std::vector<float>& values = weights.at(name);
    const double standard_error = expected / std::sqrt(2.0 * static_cast<double>(values.size()));
    EXPECT_NEAR(standard_deviation(values), expected, 4 * standard_error) << name;
  };
  expect_spread("tok_embeddings.weight", 0.02);
  expect_spread("layers.0.attention.wqkv.weight", 0.02);
  expect_spread("layers.0.attention.wo.weight", 0.02 / std::sqrt(2.0));
  expect_spread("layers.1.attention.wo.weight", 0.02 / std::sqrt(4.0));
  expect_spread("layers.1.feed_forward.w13.weight", 0.02);
  expect_spread("layers.1.feed_forward.w2.weight", 0.02 / std::sqrt(4.0));
  expect_spread("output.weight", 0.02);
  EXPECT_EQ(weights.at("layers.1.ffn_norm.weight"), std::vector<float>(64, 1.0F));
  EXPECT_EQ(weights.at("norm.weight"), std::vector<float>(64, 1.0F));
}

TEST(InitialWeights, DependOnTheSeedAndTheNameAlone) {
  LlamaConfig deeper = small_llama();
  deeper.layers = 3;
  deeper.tied_embeddings = true;
  const auto weights = initial_weights(small_llama(), 1);
  const auto others = initial_weights(deeper, 1);
  const std::string name = "layers.1.attention.wqkv.weight";
  EXPECT_EQ(weights.at(name), others.at(name)) << "more layers and fewer matrices leave the others' numbers alone";
  EXPECT_NE(weights.at(name), initial_weights(small_llama(), 2).at(name));
  EXPECT_NE(weights.at(name), weights.at("layers.0.attention.wqkv.weight"));
}

}  // namespace
}  // namespace octet::test
