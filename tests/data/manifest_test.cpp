// Manifests: round trips, damage, and fields that nobody wrote; and the shards that they and other names stand for.
#include "data/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/sealed_json.h"
#include "data/shard_set.h"
#include "data/shard_writer.h"
#include "io/mutations.h"
#include "test_files.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using test::read_file;
using test::TempFolder;
using test::user_error;
using test::write_file;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Manifest sample() {
  Manifest manifest;
  manifest.tokenizer = "marked";
  manifest.fingerprint = 0xFEDCBA9876543210U;
  manifest.vocab_size = 257;
  manifest.document_end = 256;
  manifest.train = {{10, 1, 2, 100}, {{"train-00000.tok", 60, 1}, {"train-00001.tok", 50, ~std::uint64_t{0}}}};
  manifest.inputs = {{"a b.jsonl", "jsonl", 1234, 99}};
  manifest.options = {{"field", "text"}};
  return manifest;
}

TEST(Manifest, RoundTripKeepsEverything) {
  const TempFolder folder;
  const Manifest wrote = sample();
  write_manifest(folder / "manifest.json", wrote);
  const Manifest read = read_manifest(folder / "manifest.json");
  EXPECT_EQ(read.tokenizer, wrote.tokenizer);
  EXPECT_EQ(read.fingerprint, wrote.fingerprint);
  EXPECT_EQ(read.vocab_size, wrote.vocab_size);
  EXPECT_EQ(read.document_end, wrote.document_end);
  EXPECT_EQ(read.train, wrote.train);
  EXPECT_EQ(read.validation, wrote.validation);
  EXPECT_EQ(read.inputs, wrote.inputs);
  EXPECT_EQ(read.options, wrote.options);
  const auto text = ordered_json::parse(read_file(folder / "manifest.json"));
  EXPECT_EQ(text.at("version"), 1);
  EXPECT_EQ(text.at("tokenizer").at("fingerprint"), "fedcba9876543210");
  EXPECT_EQ(text.at("splits").at("train").at("tokens"), 110);
}

TEST(Manifest, AnyEditIsNoticedOrMeansTheSame) {
  const TempFolder folder;
  const fs::path path = folder / "manifest.json";
  write_manifest(path, sample());
  const std::string whole = read_file(path);
  const auto content = ordered_json::parse(whole);
  Mutator mutator(9);
  for (int trial = 0; trial < 600; ++trial) {
    const std::string edited = mutator.mutate(whole, "{}[]\",:0\n \xFF");
    write_file(path, edited);
    const std::string error = user_error([&path] { (void)read_manifest(path); });
    if (error.empty()) {
      EXPECT_EQ(ordered_json::parse(edited), content);
    } else {
      EXPECT_THAT(error, HasSubstr("manifest.json: "));
      EXPECT_EQ(error.find('\n'), std::string::npos);
    }
  }
}

/// Every value of the JSON below `node`.
void collect(ordered_json& node, std::vector<ordered_json*>& values) {
  values.push_back(&node);
  if (node.is_structured()) {
    for (auto& child : node) collect(child, values);
  }
}

/// Whoever writes a file may seal nonsense.
TEST(Manifest, SealedNonsenseIsRefusedOrConsistent) {
  const TempFolder folder;
  const fs::path path = folder / "manifest.json";
  write_manifest(path, sample());
  ordered_json whole = ordered_json::parse(read_file(path));
  whole.erase("version");
  whole.erase("checksum");
  const std::vector<ordered_json> nonsense = {nullptr,
                                              -1,
                                              1.5,
                                              0,
                                              ~std::uint64_t{0},
                                              "",
                                              "../x",
                                              "a/b",
                                              "..",
                                              true,
                                              {{"a", 1}},
                                              ordered_json::array(),
                                              std::string("a\0b", 3)};
  Mutator mutator(10);
  int refused = 0;
  for (int trial = 0; trial < 150; ++trial) {
    ordered_json edited = whole;
    std::vector<ordered_json*> values;
    collect(edited, values);
    ordered_json& victim = *values[1 + mutator.below(values.size() - 1)];
    victim = nonsense[mutator.below(nonsense.size())];
    write_sealed_json(path, kManifestVersion, edited);
    const std::string error = user_error([&path] {
      const Manifest manifest = read_manifest(path);
      for (const ManifestShard& shard : manifest.train.shards) {
        EXPECT_EQ(fs::path(shard.file).filename(), shard.file);
        EXPECT_THAT(shard.file, ::testing::AllOf(::testing::Ne(".."), ::testing::Ne("."), ::testing::Ne("")));
      }
      EXPECT_LT(static_cast<std::uint64_t>(manifest.document_end.value_or(0)), manifest.vocab_size);
    });
    if (!error.empty()) ++refused;
  }
  EXPECT_GT(refused, 75);
}

TEST(Manifest, NamesWhatIsWrong) {
  const TempFolder folder;
  const fs::path path = folder / "manifest.json";
  const auto error_with = [&](const std::function<void(ordered_json&)>& edit) {
    write_manifest(path, sample());
    ordered_json json = ordered_json::parse(read_file(path));
    json.erase("version");
    json.erase("checksum");
    edit(json);
    write_sealed_json(path, kManifestVersion, json);
    return user_error([&path] { (void)read_manifest(path); });
  };
  EXPECT_EQ(error_with([](auto&) {}), "");
  EXPECT_THAT(error_with([](auto& json) { json["splits"]["train"]["shards"][0]["file"] = "../a.tok"; }),
              HasSubstr("manifest.json: the shard \"../a.tok\" is not a file beside the manifest"));
  EXPECT_THAT(error_with([](auto& json) { json["splits"]["train"]["shards"][0]["tokens"] = 0; }),
              HasSubstr("train-00000.tok has no tokens"));
  EXPECT_THAT(error_with([](auto& json) { json["tokenizer"]["fingerprint"] = "12"; }),
              HasSubstr("fingerprint is not sixteen hexadecimal digits"));
  EXPECT_THAT(error_with([](auto& json) { json["document_end"] = 257; }), HasSubstr("document_end 257 is outside"));
  EXPECT_THAT(error_with([](auto& json) { json["tokenizer"]["vocab_size"] = std::uint64_t{1} << 32; }),
              HasSubstr("a vocabulary of 4294967296 does not exist"));
  EXPECT_THAT(error_with([](auto& json) { json["inputs"] = 1; }), HasSubstr("inputs is not a list"));
  EXPECT_THAT(error_with([](auto& json) { json.erase("splits"); }), HasSubstr("there is no field splits"));

  write_sealed_json(path, 2, ordered_json::object());
  EXPECT_THAT(user_error([&path] { (void)read_manifest(path); }),
              HasSubstr("version 2 is unknown, this octet reads 1"));
  write_file(path, std::string(100000, '['));
  EXPECT_THAT(user_error([&path] { (void)read_manifest(path); }), HasSubstr("it is no JSON object"));
  write_file(path, "");
  fs::resize_file(path, (std::uintmax_t{64} << 20) + 1);
  EXPECT_THAT(user_error([&path] { (void)read_manifest(path); }), HasSubstr("are more than the 67108864"));
}

class ShardSet : public ::testing::Test {
 protected:
  /// A shard of a vocabulary of 256; gives its entry of a manifest.
  [[nodiscard]] ManifestShard write_shard(const std::string& name, std::vector<std::int32_t> tokens,
                                          std::uint64_t tokenizer = 7) const {
    ShardWriter writer(folder_ / name, 256, {tokenizer, {}});
    writer.append(tokens);
    writer.finish();
    return {name, writer.token_count(), writer.token_checksum()};
  }

  void write_data_set() const {
    Manifest manifest;
    manifest.tokenizer = "seven";
    manifest.fingerprint = 7;
    manifest.vocab_size = 256;
    manifest.train.shards = {write_shard("b.tok", {1, 2}), write_shard("a.tok", {3})};
    manifest.options = ordered_json::object();
    write_manifest(folder_ / "manifest.json", manifest);
  }

  [[nodiscard]] std::vector<std::string> opened(const std::string& name, DataSplit split = DataSplit::train) const {
    const std::vector<std::string> names{(folder_ / name).string()};
    std::vector<std::string> files;
    for (const Shard& shard : open_shards(names, split, 256, "data.train")) {
      files.push_back(shard.path().filename().string());
    }
    return files;
  }

  [[nodiscard]] std::string error_of(const std::string& name, DataSplit split = DataSplit::train) const {
    return user_error([&] { (void)opened(name, split); });
  }

  TempFolder folder_;  // NOLINT(misc-non-private-member-variables-in-classes)
};

TEST_F(ShardSet, OpensWhatIsMeant) {
  write_data_set();
  EXPECT_THAT(opened("manifest.json"), ElementsAre("b.tok", "a.tok")) << "in the manifest's order";
  EXPECT_THAT(opened(""), ElementsAre("b.tok", "a.tok"));
  EXPECT_THAT(opened("[ab].tok"), ElementsAre("a.tok", "b.tok"));
  EXPECT_THAT(opened("b.tok"), ElementsAre("b.tok"));
  fs::remove(folder_ / "manifest.json");
  EXPECT_THAT(opened(""), ElementsAre("a.tok", "b.tok"));
}

TEST_F(ShardSet, RefusesWhatIsNotThere) {
  EXPECT_THAT(error_of("none.tok"), AllOf(HasSubstr("data.train: there is no"), HasSubstr("octet tokenize")));
  EXPECT_THAT(error_of("*.tok"), HasSubstr("*.tok: no file matches"));
  EXPECT_THAT(error_of(""), HasSubstr("holds neither a manifest.json nor shards"));
  write_data_set();
  EXPECT_THAT(error_of("manifest.json", DataSplit::validation), HasSubstr("has no shards for validation"));
  fs::remove(folder_ / "a.tok");
  EXPECT_THAT(error_of(""), AllOf(HasSubstr("data.train: there is no"), HasSubstr("a.tok, of which")));
}

TEST_F(ShardSet, RefusesShardsThatTheManifestDoesNotKnow) {
  write_data_set();
  (void)write_shard("b.tok", {1, 3});
  EXPECT_THAT(error_of(""), AllOf(HasSubstr("b.tok: is not the shard of which"), HasSubstr("manifest.json")));
  (void)write_shard("b.tok", {1, 2}, 8);
  EXPECT_THAT(error_of(""), AllOf(HasSubstr("b.tok: is of the tokenizer 0000000000000008"),
                                  HasSubstr("speaks of 0000000000000007 (seven)")));
  std::string damaged = read_file(folder_ / "a.tok");
  damaged.back() = 9;
  (void)write_shard("b.tok", {1, 2});
  write_file(folder_ / "a.tok", damaged);
  EXPECT_THAT(error_of(""), HasSubstr("a.tok: the tokens are damaged"));
}

TEST_F(ShardSet, ShardsAreOfOneTokenizer) {
  (void)write_shard("7.tok", {1}, 7);
  (void)write_shard("8.tok", {1}, 8);
  (void)write_shard("unknown.tok", {1}, 0);
  (void)write_shard("bytes.tok", {1}, 256);
  {
    ShardWriter writer(folder_ / "smaller.tok", 100);
    writer.append(std::vector<std::int32_t>{1});
    writer.finish();
  }
  std::uint64_t common = 0;
  const auto compare = [&](const std::vector<std::string>& files, const std::string& tokenizer = "") {
    std::vector<std::string> names;
    for (const std::string& file : files) names.push_back((folder_ / file).string());
    return user_error(
        [&] { common = common_tokenizer(open_shards(names, DataSplit::train, 256, "data.train"), tokenizer); });
  };
  EXPECT_EQ(compare({"7.tok", "7.tok"}), "");
  EXPECT_EQ(common, 7U);
  EXPECT_EQ(compare({"unknown.tok", "7.tok"}), "") << "of the same vocabulary";
  EXPECT_EQ(common, 7U);
  EXPECT_EQ(compare({"unknown.tok"}), "");
  EXPECT_EQ(common, 0U);
  EXPECT_THAT(compare({"unknown.tok", "7.tok", "8.tok"}),
              AllOf(HasSubstr("7.tok is of the tokenizer 0000000000000007, but"),
                    HasSubstr("8.tok is of the tokenizer 0000000000000008")));
  EXPECT_THAT(compare({"7.tok", "smaller.tok"}), HasSubstr("smaller.tok is of a vocabulary of 100"));
  EXPECT_EQ(compare({"bytes.tok"}, "bytes"), "");
  EXPECT_EQ(common, 256U);
  EXPECT_EQ(compare({"unknown.tok"}, "bytes"), "");
  EXPECT_THAT(compare({"7.tok"}, "bytes"), AllOf(HasSubstr("data.tokenizer bytes has the fingerprint 0000000000000100"),
                                                 HasSubstr("7.tok is of the tokenizer 0000000000000007")));
  EXPECT_THAT(compare({"smaller.tok"}, "bytes"), HasSubstr("smaller.tok is of a vocabulary of 100"));
  EXPECT_THAT(compare({"7.tok"}, "none"), HasSubstr("there is no tokenizer \"none\""));
}

}  // namespace
}  // namespace octet
