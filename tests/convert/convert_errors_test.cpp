// What is wrong with a model's files, each with a message that names it.
#include "convert/small_models.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

class ConvertErrors : public testing::Test {
 protected:
  [[nodiscard]] std::string opening() const {
    return user_error([&] { (void)ModelSource::open(write_model(scratch_.path() / "in", config_, stored_)); });
  }
  [[nodiscard]] std::string indexed(const nlohmann::json& index) const {
    write_model(scratch_.path() / "in", config_, stored_);
    fs::rename(scratch_.path() / "in/model.safetensors", scratch_.path() / "in/a.safetensors");
    write_file_atomically(scratch_.path() / "in/model.safetensors.index.json", index.dump());
    return user_error([&] { (void)ModelSource::open(scratch_.path() / "in"); });
  }
  ScratchDirectory scratch_;
  nlohmann::json config_ = small_config("llama3");
  Stored stored_ = stored_model(config_);
};

TEST_F(ConvertErrors, NameTheTensorThatIsMissing) {
  stored_.remove("model.layers.1.mlp.up_proj.weight");
  EXPECT_TRUE(octet::contains(opening(), "model.layers.1.mlp.up_proj.weight is missing"));
}

TEST_F(ConvertErrors, NameTheTensorThatIsTooMany) {
  stored_.add("model.layers.0.self_attn.q_proj.bias", FileDType::bf16, {8});
  EXPECT_TRUE(octet::contains(opening(), "model.layers.0.self_attn.q_proj.bias is none of the model's"));
}

TEST_F(ConvertErrors, NameTheShapeThatIsWrong) {
  stored_.remove("model.norm.weight");
  stored_.add("model.norm.weight", FileDType::bf16, {9});
  EXPECT_TRUE(octet::contains(opening(), "model.norm.weight is BF16 [9], config.json makes it [8]"));
}

TEST_F(ConvertErrors, NameTheDTypeThatIsWrong) {
  stored_.remove("model.norm.weight");
  stored_.add("model.norm.weight", FileDType::i32, {8});
  EXPECT_TRUE(octet::contains(opening(), "model.norm.weight is I32 [8]"));
}

TEST_F(ConvertErrors, Fp8NeedsItsScales) {
  stored_.remove("lm_head.weight");
  stored_.add("lm_head.weight", FileDType::f8_e4m3, {16, 8});
  EXPECT_TRUE(octet::contains(opening(), "needs quantization_config"));
  config_["quantization_config"] = {{"quant_method", "fp8"}, {"fmt", "e4m3"}, {"weight_block_size", {128, 128}}};
  EXPECT_TRUE(octet::contains(opening(), "lm_head.weight_scale_inv is missing"));
  stored_.add("lm_head.weight_scale_inv", FileDType::f32, {1, 2});
  EXPECT_TRUE(octet::contains(opening(), "needs F32 [1, 1]"));
}

TEST_F(ConvertErrors, NamesOfFilesStayInTheDirectory) {
  for (const char* name : {"../a.safetensors", "/etc/a.safetensors", "..", "a.bin", ".safetensors"}) {
    EXPECT_TRUE(
        octet::contains(indexed({{"weight_map", {{"model.norm.weight", name}}}}), "no name of a safetensors file"));
  }
}

TEST_F(ConvertErrors, TheIndexAgreesWithTheFiles) {
  EXPECT_TRUE(octet::contains(indexed({{"weight_map", {{"x", "a.safetensors"}}}}), "where the index"));
  EXPECT_TRUE(octet::contains(indexed({{"weight_map", 3}}), "weight_map"));
}

TEST_F(ConvertErrors, LinksAreNotFollowed) {
  const fs::path in = write_model(scratch_.path() / "in", config_, stored_);
  fs::rename(in / "model.safetensors", scratch_.path() / "elsewhere");
  fs::create_symlink(scratch_.path() / "elsewhere", in / "model.safetensors");
  EXPECT_TRUE(octet::contains(user_error([&] { (void)ModelSource::open(in); }), "symbolic link"));
}

TEST_F(ConvertErrors, DamagedBytesLeaveNothing) {
  const fs::path in = write_model(scratch_.path() / "in", config_, stored_);
  std::string bytes = read_file(in / "model.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file_atomically(in / "model.safetensors", bytes);
  const fs::path out = scratch_.path() / "out";
  EXPECT_TRUE(octet::contains(user_error([&] { convert(in, out); }), "does not match its checksum"));
  EXPECT_FALSE(fs::exists(out));
  EXPECT_FALSE(fs::exists(scratch_.path() / "out.partial"));
}

TEST_F(ConvertErrors, WhatIsThereStays) {
  const fs::path in = write_model(scratch_.path() / "in", config_, stored_);
  EXPECT_TRUE(octet::contains(user_error([&] { convert(in, in); }), "is there already"));
}

}  // namespace
}  // namespace octet::test
