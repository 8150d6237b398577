// Damaged models: each is read, or refused with one line; none reaches outside its directory or its files.
#include "convert/small_models.h"
#include "io/mutations.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view tokens = "{}[]\":,\\0123456789-+.eEnulltruefalse_/ \x80\xff";

bool opens(const fs::path& directory) {
  try {
    (void)ModelSource::open(directory);
    return true;
  } catch (const UserError& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
  }
  return false;
}

TEST(ConvertFuzz, DamagedConfigurationsAreReadOrRefused) {
  Mutator mutator(1);
  int accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = small_config(i % 2 == 0 ? "llama3" : "deepseek_v3").dump();
    try {
      (void)parse_hugging_face_config(mutator.mutate(text, tokens), "config.json");
      ++accepted;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 4000);
}

TEST(ConvertFuzz, DamagedIndicesAndHeadersAreReadOrRefused) {
  const ScratchDirectory scratch;
  const auto config = small_config("llama3");
  const fs::path in = write_model(scratch.path() / "in", config, stored_model(config));
  const fs::path shard = in / "a.safetensors";
  fs::rename(in / "model.safetensors", shard);
  nlohmann::json map;
  for (const auto& [name, bytes] : contents(in)) map[name] = "a.safetensors";
  const std::string index = nlohmann::json{{"weight_map", map}}.dump();
  const std::string weights = read_file(shard);
  const fs::path index_path = scratch.write("in/model.safetensors.index.json", index);
  ASSERT_TRUE(opens(in));
  Mutator mutator(2);
  for (int i = 0; i < 500; ++i) {
    (void)scratch.write("in/model.safetensors.index.json", mutator.mutate(index, tokens));
    (void)opens(in);
  }
  (void)scratch.write("in/model.safetensors.index.json", index);
  for (int i = 0; i < 500; ++i) {
    (void)scratch.write("in/a.safetensors", mutator.mutate(weights, tokens));
    (void)opens(in);
  }
}

}  // namespace
}  // namespace octet::test
