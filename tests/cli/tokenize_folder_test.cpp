// octet tokenize --out, and training on what it leaves: a manifest, its folder, the tokenizer that a run is of.
#include <csignal>

#include "cli/cli_fixture.h"
#include "data/shard.h"
#include "data/shard_writer.h"
#include "io/files.h"

namespace octet::test {
namespace {

class TokenizedFolder : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    std::string lines;
    for (int i = 0; i < 400; ++i) {
      lines += nlohmann::json{{"text", "document " + std::to_string(i) + " of many\n"}}.dump() + "\n";
    }
    write("docs.jsonl", lines);
  }

  /// The words of a run on `data` for training and validation.
  [[nodiscard]] static Words train_on(std::string_view run, const std::string& data) {
    return train(run, join({set("data.train=" + data), set("data.validation=" + data)}));
  }

  /// The training shard of the fixture, as if another tokenizer had made it.
  void write_foreign(const std::string& name) const {
    const Shard shard(path("train.tok"), 256);
    std::vector<std::int32_t> tokens(shard.token_count());
    shard.read(0, tokens);
    ShardWriter writer(path(name), 256, {7, {}});
    writer.append(tokens);
    writer.finish();
  }
};

TEST_F(TokenizedFolder, IsTrainedOnByManifestOrFolder) {
  const auto summary = json_of(
      {"tokenize", "docs.jsonl", "--out", "data", "--validation-fraction", "0.2", "--shard-tokens", "2000", "--json"});
  EXPECT_GT(summary.at("train").at("shards").size(), 1U);
  EXPECT_EQ(summary.at("train").at("documents").get<int>() + summary.at("validation").at("documents").get<int>(), 400);
  EXPECT_EQ(summary.at("manifest"), "data/manifest.json");
  succeed(train_on("by-file", "data/manifest.json"));
  succeed(train_on("by-folder", "data"));
  EXPECT_EQ(trajectory("by-file"), trajectory("by-folder"));
  EXPECT_EQ(run_json("by-file").at("tokenizer"), "0000000000000100");
  EXPECT_EQ(run_json("by-file").at("config").at("data").at("tokenizer"), "");
}

TEST_F(TokenizedFolder, IsCheckedWhenTrainingStarts) {
  succeed({"tokenize", "docs.jsonl", "--out", "data"});
  refuses(train_on("run", "data"), {"data.validation", "data/manifest.json has no shards for validation"});
  std::filesystem::copy_file(path("train.tok"), path("data/train-00000.tok"),
                             std::filesystem::copy_options::overwrite_existing);
  refuses(train("run", set("data.train=data")), {"data/train-00000.tok", "is not the shard of which"});
}

TEST_F(TokenizedFolder, RunsAreOfOneTokenizer) {
  write_foreign("foreign.tok");
  refuses(train("run", set("data.train=foreign.tok")), {"foreign.tok", "validation.tok", "0000000000000007"});
  refuses(train("run",
                join({set("data.train=foreign.tok"), set("data.validation=foreign.tok"), set("data.tokenizer=bytes")})),
          {"data.tokenizer bytes", "foreign.tok is of the tokenizer 0000000000000007"});
  refuses(train("run", set("data.tokenizer=none")), {"there is no tokenizer \"none\""});
  succeed(train("run", join({set("data.tokenizer=bytes"), set("training.steps=2")})));
  refuses(join({train_on("run", "foreign.tok"), {"--resume"}}),
          {"step-00000002", "was trained on tokens of the tokenizer 0000000000000100", "0000000000000007"});
}

TEST_F(TokenizedFolder, OptionsThatDoNotGoTogether) {
  refuses({"tokenize", "text.txt"}, {"give --out FOLDER", "or --train SHARD"});
  refuses({"tokenize", "text.txt", "--train", "a.tok", "--out", "data"}, {"give --out FOLDER", "or --train SHARD"});
  refuses({"tokenize", "docs.jsonl", "--train", "a.tok"}, {"docs.jsonl: --train takes texts alone: give --out"});
  refuses({"tokenize", "*.txt", "--train", "a.tok"}, {"*.txt: --train takes texts alone"});
  refuses({"tokenize", "text.txt", "--train", "a.tok", "--threads", "2"}, {"--threads requires --out"});
  refuses({"tokenize", "text.txt", "--out", "data", "--validation", "b.tok"}, {"--validation requires --train"});
  refuses({"tokenize", "text.txt", "--train", "a.tok", "--tokenizer", "none"}, {"there is no tokenizer \"none\""});
  refuses({"tokenize", "text.txt", "--out", "data", "--format", "csv"}, {"--format", "csv"});
}

/// Killed wherever it is, a job that is started again leaves the same bytes.
TEST_F(TokenizedFolder, SurvivesAKill) {
  std::string lines;
  const std::string text(2000, 'x');
  for (int i = 0; i < 4000; ++i) lines += nlohmann::json{{"text", text + std::to_string(i)}}.dump() + "\n";
  write("large.jsonl", lines);
  const Words job = {"tokenize", "large.jsonl", "--shard-tokens", "400000", "--threads", "2", "--out"};
  succeed(join({job, {"whole"}}));
  OctetProcess process(path(""), join({job, {"parts"}}));
  ASSERT_TRUE(process.wait_until([this] { return std::filesystem::exists(path("parts/tokenize.state.json")); }));
  process.send(SIGKILL);
  EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
  const Outcome outcome = octet(join({job, {"parts"}}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("going on behind"), std::string::npos) << outcome.err;
  for (const auto& entry : std::filesystem::directory_iterator(path("whole"))) {
    EXPECT_TRUE(read_file(entry.path()) == read_file(path("parts") / entry.path().filename())) << entry.path();
  }
}

}  // namespace
}  // namespace octet::test
