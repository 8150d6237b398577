// Every command but train does what its help says, and its JSON parses.
#include <algorithm>

#include "cli/cli_fixture.h"
#include "io/files.h"

namespace octet::test {
namespace {

using Commands = CliTest;

TEST_F(Commands, Version) {
  EXPECT_TRUE(succeed({"--version"}).starts_with("octet 0."));
}

TEST_F(Commands, HelpNamesEveryCommand) {
  const std::string help = succeed({"--help"});
  for (const char* command :
       {"train", "generate", "report", "compare", "checkpoint", "tokenize", "config", "info", "selftest", "bench"}) {
    EXPECT_TRUE(contains(help, command));
  }
}

TEST_F(Commands, TokenizeSplitsTheTextAndRepeatsItself) {
  const auto counts = json_of({"tokenize", "text.txt", "--train", "a.tok", "--validation", "b.tok", "--json"});
  EXPECT_EQ(counts.at("train_tokens").get<std::size_t>() + counts.at("validation_tokens").get<std::size_t>(),
            read_file(path("text.txt")).size());
  EXPECT_EQ(counts.at("vocab_size"), 256);
  EXPECT_TRUE(read_file(path("a.tok")) == read_file(path("train.tok")));
  EXPECT_TRUE(read_file(path("b.tok")) == read_file(path("validation.tok")));
}

TEST_F(Commands, ConfigShowNamesOrigins) {
  const Words show = {"config", "show", OCTET_CONFIGS "/llama3_debug.toml", "--set", "training.steps=7"};
  const auto shown = json_of(join({show, {"--json"}}));
  EXPECT_EQ(shown.at("config").at("training").at("steps"), 7);
  EXPECT_EQ(shown.at("origins").at("training.steps"), "--set");
  EXPECT_EQ(shown.at("origins").at("optimizer.beta1"), "default");
  EXPECT_TRUE(contains(shown.at("origins").at("model.dim").get<std::string>(), "llama3_debug.toml:"));
  write("shown.toml", succeed(show));  // what it prints is a configuration again
  EXPECT_EQ(json_of({"config", "show", "shown.toml", "--json"}).at("config"), shown.at("config"));
}

TEST_F(Commands, ConfigDiffNamesWhatDiffers) {
  const Words diff = {"config", "diff", OCTET_CONFIGS "/llama3_quickstart.toml", OCTET_CONFIGS "/llama3_debug.toml"};
  EXPECT_TRUE(contains(succeed(diff), "model.dim: 256 -> 64\n"));
  const auto differences = json_of(join({diff, {"--json"}}));
  EXPECT_TRUE(std::any_of(differences.begin(), differences.end(), [](const auto& entry) {
    return entry.at("key") == "model.dim" && entry.at("right") == "64";
  }));
  EXPECT_EQ(succeed({"config", "diff", diff[2], diff[2]}), "");
}

TEST_F(Commands, InfoNamesDevicesAndWhatIsLeftOut) {
  const auto info = json_of({"info", "--json"});
  EXPECT_EQ(info.at("devices").at(0).at("name"), "cpu");
  EXPECT_EQ(info.at("devices").at(0).at("verified"), true);
  EXPECT_FALSE(info.at("libraries").empty());
  EXPECT_TRUE(contains(succeed({"info"}), "left out  cuda: "));
}

TEST_F(Commands, ReportComparesRuns) {
  succeed(train("runs/low"));
  succeed(train("runs/high", {"--recipe", "bf16"}));
  const auto summary = json_of({"report", "runs/low", "runs/high", "--json"});
  EXPECT_TRUE(contains(summary.dump(), "rowwise"));
  const std::string page = read_file(path("runs/report.html"));
  EXPECT_TRUE(contains(page, "low"));
  EXPECT_TRUE(contains(page, "high"));
}

}  // namespace
}  // namespace octet::test
