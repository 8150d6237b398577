// Whole models there and back: every bit of every tensor, in every family.
#include <cmath>

#include "convert/small_models.h"
#include "fp8/bf16.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

class EveryFamily : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!octet_has(GetParam())) GTEST_SKIP() << "this octet has no " << GetParam();
  }
  ScratchDirectory scratch_;
};

TEST_P(EveryFamily, GoesToOctetAndBackBitByBit) {
  const auto config = small_config(GetParam());
  const fs::path in = write_model(scratch_.path() / "in", config, stored_model(config));
  convert(in, scratch_.path() / "octet");
  ConvertOptions sharded;
  sharded.shard_bytes = 600;
  convert(scratch_.path() / "octet", scratch_.path() / "out", sharded);
  EXPECT_EQ(contents(in), contents(scratch_.path() / "out"));
  EXPECT_TRUE(fs::exists(scratch_.path() / "out" / "model.safetensors.index.json"));
  EXPECT_EQ(ModelSource::open(in).config().config.model,
            ModelSource::open(scratch_.path() / "out").config().config.model);
  convert(scratch_.path() / "out", scratch_.path() / "octet2");
  EXPECT_EQ(contents(scratch_.path() / "octet"), contents(scratch_.path() / "octet2"));
  EXPECT_EQ(load_config(scratch_.path() / "octet" / "config.toml").config,
            load_config(scratch_.path() / "octet2" / "config.toml").config);
}

INSTANTIATE_TEST_SUITE_P(Convert, EveryFamily, testing::Values("llama3", "qwen3", "qwen3_moe", "deepseek_v3"),
                         [](const auto& family) { return std::string(family.param); });

class Convert : public testing::Test {
 protected:
  [[nodiscard]] fs::path path(std::string_view name) const { return scratch_.path() / name; }
  [[nodiscard]] fs::path write(const nlohmann::json& config, const Stored& stored) const {
    return write_model(path("in"), config, stored);
  }
  ScratchDirectory scratch_;
};

TEST_F(Convert, TiedModelsHaveNoHead) {
  auto config = small_config("llama3");
  config["tie_word_embeddings"] = true;
  Stored stored = stored_model(config);
  convert(write(config, stored), path("octet"));
  EXPECT_FALSE(contents(path("octet")).contains("output.weight"));
  convert(path("octet"), path("out"));
  EXPECT_FALSE(contents(path("out")).contains("lm_head.weight"));
  FileTensor copy = stored.find("model.embed_tokens.weight");
  stored.add("lm_head.weight", FileDType::bf16, copy.shape).bytes = copy.bytes;
  EXPECT_EQ(ModelSource::open(write(config, stored)).left_out(), std::vector<std::string>{"lm_head.weight"});
}

TEST_F(Convert, HalvesBecomeTheirValues) {
  const auto config = small_config("llama3");
  const Stored stored = stored_model(config, FileDType::f16);
  convert(write(config, stored), path("octet"));
  const SafetensorsFile file = SafetensorsFile::open(path("octet") / "model.safetensors");
  const FileTensor& norm = *file.find("norm.weight");
  ASSERT_EQ(norm.dtype, FileDType::f32);
  const SafetensorsFile before = SafetensorsFile::open(path("in") / "model.safetensors");
  const FileTensor& half = *before.find("model.norm.weight");
  for (std::size_t i = 0; i < 8; ++i) {
    std::uint16_t bits = 0;
    float value = 0;
    std::memcpy(&bits, half.bytes.data() + 2 * i, 2);
    std::memcpy(&value, norm.bytes.data() + 4 * i, 4);
    const float expected = half_to_float(bits);
    EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)));
  }
}

TEST_F(Convert, LayersOfPredictionAndOldTablesAreLeftOut) {
  auto config = small_config("deepseek_v3");
  config["num_nextn_predict_layers"] = 1;
  Stored stored = stored_model(config);
  stored.add("model.layers.2.eh_proj.weight", FileDType::bf16, {8, 16});
  stored.add("model.layers.0.self_attn.rotary_emb.inv_freq", FileDType::f32, {2});
  EXPECT_EQ(ModelSource::open(write(config, stored)).left_out().size(), 2U);
}

TEST_F(Convert, FilesOfTheTokenizerAndTheContextGoAlongAndComeBack) {
  auto config = small_config("llama3");
  config.update({{"max_position_embeddings", 131072}, {"bos_token_id", 3}, {"eos_token_id", {4, 5}}});
  const fs::path in = write(config, stored_model(config));
  write_file_atomically(in / "tokenizer.json", "{\"a\": 1}");
  write_file_atomically(in / "README.md", "not a model's");
  convert(in, path("octet"));
  convert(path("octet"), path("out"));
  EXPECT_EQ(read_file(path("out") / "tokenizer.json"), "{\"a\": 1}");
  EXPECT_FALSE(fs::exists(path("out") / "README.md"));
  const auto back = nlohmann::json::parse(read_file(path("out") / "config.json"));
  for (const char* key : {"max_position_embeddings", "bos_token_id", "eos_token_id"})
    EXPECT_EQ(back.at(key), config.at(key));
  EXPECT_EQ(back.at("torch_dtype"), "bfloat16");
}

TEST_F(Convert, ValuesAreRoundedToNearestWhereAsked) {
  const auto config = small_config("llama3");
  convert(write(config, stored_model(config, FileDType::f32)), path("octet"),
          {.dtype = WrittenDType::bf16, .like = {}});
  const SafetensorsFile before = SafetensorsFile::open(path("in") / "model.safetensors");
  const SafetensorsFile after = SafetensorsFile::open(path("octet") / "model.safetensors");
  const FileTensor& from = *before.find("lm_head.weight");
  const FileTensor& to = *after.find("output.weight");
  ASSERT_EQ(to.dtype, FileDType::bf16);
  for (std::size_t i = 0; i < 128; ++i) {
    float value = 0;
    bf16 rounded{};
    std::memcpy(&value, from.bytes.data() + 4 * i, 4);
    std::memcpy(&rounded, to.bytes.data() + 2 * i, 2);
    EXPECT_EQ(rounded.bits, to_bf16(value).bits) << value;
  }
}

}  // namespace
}  // namespace octet::test
