// TOML to Config: values, origins, inheritance, overrides, and what each mistake is told.
#include <gtest/gtest.h>

#include <limits>

#include "io/config.h"
#include "io/config_samples.h"
#include "io/scratch.h"

namespace octet {
namespace {

using Overrides = std::vector<std::string>;

LoadedConfig parse(std::string_view text, const Overrides& overrides = {}) {
  return parse_config(text, "run.toml", overrides);
}

/// What a file says that has `line` after the minimal configuration (in its last section, data, unless it opens one).
std::string error_with(std::string_view line) {
  return user_error([&] { (void)parse(std::string(minimal_config) + std::string(line)); });
}

std::string override_error(const std::string& text) {
  return user_error([&] { (void)parse(minimal_config, {text}); });
}

TEST(ConfigReader, ReadsValuesAndRemembersOrigins) {
  const auto [config, origins] = parse(minimal_config, {"training.seed=9223372036854775807"});
  EXPECT_EQ(config.model.dim, 64);
  EXPECT_EQ(config.model.head_dim(), 16);
  EXPECT_EQ(config.optimizer.lr, 1e-3);
  EXPECT_EQ(config.data.train, std::vector<std::string>{"train.tok"});
  EXPECT_EQ(config.training.seed, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(config.schedule, Config::Schedule{});
  EXPECT_EQ(origins.at("model.dim"), "run.toml:3");
  EXPECT_EQ(origins.at("training.seed"), "--set");
  EXPECT_EQ(origins.at("schedule.decay"), "default");
}

TEST(ConfigReader, RopeScalingIsATableOrDottedKeys) {
  const Config::RopeScaling expected{8.0, 1.0, 4.0, 4096};
  const std::string text(minimal_config);
  EXPECT_EQ(parse(text + "[model.rope_scaling]\nfactor = 8\noriginal_max_seq_len = 4096").config.model.rope_scaling,
            expected);
  EXPECT_EQ(parse(text, {"model.rope_scaling.factor=8", "model.rope_scaling.original_max_seq_len=4096"})
                .config.model.rope_scaling,
            expected);
  EXPECT_TRUE(expected.enabled());
  EXPECT_FALSE(parse(text).config.model.rope_scaling.enabled());
}

TEST(ConfigReader, ReadsChoicesListsAndAliases) {
  const Config config = parse(std::string(minimal_config) +
                              "validation = [\"a\", \"b\"]\n[precision]\nrecipe = \"rowwise_with_gw_hp\"\n"
                              "fp8_format = \"fnuz\"\nskip = \"layers.0.*\"\n"
                              "accumulation_forward = \"full\"\naccumulation_dgrad = \"fast\"\n")
                            .config;
  EXPECT_EQ(config.precision.recipe, Config::Recipe::rowwise_hp_wgrad);
  EXPECT_EQ(config.precision.fp8_format, Config::Fp8Format::fnuz);
  EXPECT_EQ(config.precision.skip, std::vector<std::string>{"layers.0.*"});
  EXPECT_EQ(config.precision.accumulation_forward, Config::Accumulation::full);
  EXPECT_EQ(config.precision.accumulation_dgrad, Config::Accumulation::fast);
  EXPECT_EQ(config.precision.accumulation_wgrad, Config::Accumulation::recipe);
  EXPECT_EQ(config.data.validation, (std::vector<std::string>{"a", "b"}));
}

TEST(ConfigReader, UnknownKeysGetTheNearestName) {
  EXPECT_EQ(error_with("shufle = true"), "run.toml:16:10: unknown key data.shufle; did you mean data.shuffle?");
  EXPECT_TRUE(contains(error_with("lr = 1.0"), "unknown key data.lr; did you mean optimizer.lr?"));
  EXPECT_TRUE(contains(error_with("[trainig]\nx = 1"), "unknown key trainig; did you mean training?"));
  EXPECT_TRUE(contains(error_with("xyzzy = 1"), "unknown key data.xyzzy; see docs/configuration.md"));
  EXPECT_TRUE(contains(error_with("\"a\\nb\" = 1"), "unknown key data.a\\x0ab;"));
}

TEST(ConfigReader, WrongTypesNameWhatIsExpectedAndWhatIsThere) {
  EXPECT_EQ(error_with("shuffle = \"yes\""),
            "run.toml:16:11: data.shuffle: expected true or false, got a string \"yes\"");
  EXPECT_TRUE(contains(error_with("[checkpoint]\nkeep = 2.0"),
                       "run.toml:17:8: checkpoint.keep: expected an integer, got a number 2.0"));
  EXPECT_TRUE(contains(error_with("[schedule]\nmin_lr_ratio = true"), "expected a number, got true"));
  EXPECT_TRUE(contains(error_with("validation = [\"a\", 1]"), "expected a string or a list of strings, got a list"));
  EXPECT_TRUE(contains(error_with("[schedule]\ndecay = 2020-01-01"), "expected a string, got a date or time"));
  EXPECT_TRUE(contains(error_with("[[logging]]\ninterval = 1"), "logging: expected a table, got a list"));
}

TEST(ConfigReader, ValuesOutOfRangeNameTheRange) {
  EXPECT_EQ(error_with("[checkpoint]\nkeep = 0"), "run.toml:17:8: checkpoint.keep must be 1 to 1000000000, is 0");
  EXPECT_TRUE(contains(error_with("[schedule]\ndecay = \"cosin\""),
                       "schedule.decay must be constant or linear or cosine or sqrt, is \"cosin\""));
  EXPECT_TRUE(contains(override_error("precision.accumulation_wgrad=slow"),
                       "precision.accumulation_wgrad must be recipe or fast or full, is \"slow\""));
  EXPECT_TRUE(contains(override_error("optimizer.lr=0"), "optimizer.lr must be above 0, is 0"));
  EXPECT_TRUE(contains(override_error("optimizer.beta1=1.0"), "must be at least 0 and below 1, is 1"));
  EXPECT_TRUE(contains(override_error("optimizer.lr=nan"), "must be finite, is nan"));
  EXPECT_TRUE(contains(override_error("optimizer.lr=inf"), "must be finite, is inf"));
  EXPECT_TRUE(contains(override_error("training.steps=-5"), "must be 1 to"));
  EXPECT_TRUE(contains(override_error("training.seed=-1"), "must be at least 0, is -1"));
  EXPECT_TRUE(contains(override_error("data.train=[]"), "data.train must name at least one, is empty"));
  EXPECT_TRUE(contains(override_error("data.train="), "data.train has an empty string in it"));
}

TEST(ConfigReader, BrokenTomlNamesLineAndColumn) {
  EXPECT_TRUE(contains(error_with("shuffle = = 1"), "run.toml:16:11: not valid TOML: "));
  EXPECT_TRUE(contains(error_with("train = \"twice\""), "run.toml:16:"));
  EXPECT_TRUE(contains(error_with("[training]"), "run.toml:16:"));
}

TEST(ConfigReader, DepthAndLengthAreBounded) {
  std::string dots = "a";
  for (int i = 0; i < 100'000; ++i) dots += ".a";
  EXPECT_TRUE(contains(error_with(dots + " = 1"), "run.toml:16: more than 64 dots on one line"));
  EXPECT_TRUE(contains(error_with("x = " + std::string(100'000, '[')), "not valid TOML"));
  EXPECT_TRUE(contains(error_with("#" + std::string(2 << 20, ' ')), "too long for a configuration"));
}

TEST(ConfigReader, StringsAndCommentsHoldWhatTheyLike) {
  const std::string dots(300, '.');
  const std::string odd = "validation = [\"" + dots + "\", '\xc3\xa9\\', \"\\\"#\"] # " + dots + "\xc3\xa9'\n";
  EXPECT_EQ(parse(std::string(minimal_config) + odd + "shuffle = false").config.data.validation[2], "\"#");
}

TEST(ConfigReader, WhatTheParserCannotTakeIsRefusedBefore) {
  EXPECT_TRUE(contains(error_with("train\xc3\xa9 = 1"), "run.toml:16: a character beyond ASCII outside of a string"));
  EXPECT_TRUE(contains(error_with("# \xc3\xa9\n'a\xc3' \xe2\x80\xa8"), "run.toml:17: a character beyond ASCII"));
  EXPECT_TRUE(contains(error_with("x = \"\"\"a\"\"\""), "run.toml:16: a multi-line string"));
  EXPECT_TRUE(contains(error_with("x = \"open\ny = 1"), "run.toml:16:"));
}

TEST(ConfigReader, VersionIsRequired) {
  const std::string rest(minimal_config.substr(minimal_config.find('\n')));
  EXPECT_EQ(user_error([&] { (void)parse(rest); }), "run.toml: version is missing; write version = 1 at the top");
  EXPECT_EQ(user_error([&] { (void)parse("version = 2" + rest); }),
            "run.toml:1:11: version: this Octet reads version = 1, got an integer 2");
}

TEST(ConfigReader, MissingKeysAreNamed) {
  std::string text(minimal_config);
  text.erase(text.find("dim = 64\n"), 9);
  EXPECT_EQ(user_error([&] { (void)parse(text); }),
            "run.toml: model.dim is missing (width of the residual stream); add it, or pass --set model.dim=...");
  EXPECT_EQ(parse(text, {"model.dim=32"}).config.model.dim, 32);
}

TEST(ConfigOverrides, AreTomlValuesOrBareWords) {
  const Config config = parse(minimal_config, {"data.train=a b/c.tok", "precision.recipe=rowwise",
                                               "precision.skip=[\"x\", 'y']", "training.deterministic=false",
                                               "optimizer.lr=2", "training.seq_len=0x20", "training.steps=7"})
                            .config;
  EXPECT_EQ(config.data.train, std::vector<std::string>{"a b/c.tok"});
  EXPECT_EQ(config.precision.recipe, Config::Recipe::rowwise);
  EXPECT_EQ(config.precision.skip, (std::vector<std::string>{"x", "y"}));
  EXPECT_FALSE(config.training.deterministic);
  EXPECT_EQ(config.optimizer.lr, 2.0);
  EXPECT_EQ(config.training.seq_len, 32);
}

TEST(ConfigOverrides, TheLastOneWins) {
  EXPECT_EQ(parse(minimal_config, {"training.steps=7", "training.steps=8"}).config.training.steps, 8);
}

TEST(ConfigOverrides, MistakesAreNamed) {
  EXPECT_EQ(override_error("training.steps"), "--set training.steps: write --set section.key=value");
  EXPECT_EQ(override_error("training.step=1"),
            "--set training.step=1: unknown key training.step; did you mean training.steps?");
  EXPECT_EQ(override_error("training.steps=ten"),
            "--set training.steps=ten: training.steps: expected an integer, got a string \"ten\"");
  EXPECT_TRUE(contains(override_error("training.steps=1\nvalue2 = 3"), "one --set takes one value"));
  EXPECT_TRUE(contains(override_error("data.train=\xff"), "--set data.train="));
  EXPECT_TRUE(contains(override_error("model={}"), "unknown key model"));
}

TEST(ConfigExtends, TakesWhatTheFileDoesNotSet) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch.path() / "sub");
  scratch.write("base.toml", minimal_config);
  const auto path = scratch.write("sub/run.toml", "version = 1\nextends = \"../base.toml\"\n[training]\nsteps = 99\n");
  const auto [config, origins] = load_config(path);
  EXPECT_EQ(config.training.steps, 99);
  EXPECT_EQ(config.training.seq_len, 64);
  EXPECT_EQ(origins.at("training.steps"), path.string() + ":4");
  EXPECT_EQ(origins.at("training.seq_len"), (scratch.path() / "base.toml").string() + ":10");
}

TEST(ConfigExtends, CyclesAreFound) {
  const ScratchDirectory scratch;
  const auto a = scratch.write("a.toml", "version = 1\nextends = \"b.toml\"\n");
  scratch.write("b.toml", "version = 1\nextends = \"./a.toml\"\n");
  const std::string b_path = (scratch.path() / "b.toml").string();
  EXPECT_EQ(user_error([&] { (void)load_config(a); }),
            b_path + ":2:11: extends: " + a.string() + " extends this file in turn; remove one of the two");
}

TEST(ConfigExtends, DepthIsLimited) {
  const ScratchDirectory scratch;
  scratch.write("0.toml", minimal_config);
  for (int i = 1; i <= 9; ++i) {
    scratch.write(std::to_string(i) + ".toml", "version = 1\nextends = \"" + std::to_string(i - 1) + ".toml\"\n");
  }
  EXPECT_EQ(load_config(scratch.path() / "8.toml").config.model.dim, 64);
  EXPECT_TRUE(contains(user_error([&] { (void)load_config(scratch.path() / "9.toml"); }),
                       "1.toml:2:11: extends: more than 8 files in a chain"));
}

TEST(ConfigExtends, AMissingFileIsNamedWithTheLineThatAsksForIt) {
  const ScratchDirectory scratch;
  const auto path = scratch.write("a.toml", "version = 1\nextends = \"none.toml\"\n");
  EXPECT_TRUE(contains(user_error([&] { (void)load_config(path); }),
                       "a.toml:2:11: extends: cannot open " + (scratch.path() / "none.toml").string()));
  EXPECT_TRUE(contains(user_error([&] { (void)parse("version = 1\nextends = 3"); }), "expected a string"));
  EXPECT_TRUE(contains(user_error([&] { (void)parse("version = 1\nextends = \"a\\u0000b\""); }), "NUL"));
  const std::string long_name = "version = 1\nextends = \"" + std::string(5000, 'x') + "\"";
  EXPECT_TRUE(contains(user_error([&] { (void)parse(long_name); }), "File name too long"));
}

}  // namespace
}  // namespace octet
