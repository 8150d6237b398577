// The configuration written out, the reference page, and the configurations that ship.
#include "io/config_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "io/config_fields.h"
#include "io/config_samples.h"
#include "io/files.h"
#include "io/scratch.h"

namespace octet {
namespace {

/// A legal value that is not the default.
ConfigValue other_value(const ConfigField& field) {
  ConfigValue value = field.get(Config{});
  if (auto* flag = std::get_if<bool>(&value)) *flag = !*flag;
  if (auto* integer = std::get_if<std::int64_t>(&value)) *integer += 2;
  if (auto* number = std::get_if<double>(&value)) *number = field.range.max < 2 ? *number / 3 : *number + 1.0 / 3;
  if (auto* choice = std::get_if<std::string>(&value))
    *choice = field.choices.empty() ? "other" : std::string(field.choices.back());
  if (auto* list = std::get_if<std::vector<std::string>>(&value)) *list = {"a \"quoted\"\\ name\x7f\n", "\xc3\xa9"};
  return value;
}

/// Every key that models of the family have.
Config all_changed(Config::Family family) {
  Config config;
  for (const ConfigField& field : config_fields()) {
    if (has_field(family, field)) field.set(config, other_value(field));
  }
  config.model.family = family;
  config.model.dim = 64;                                          // so that the heads divide it
  if (config.model.has_experts()) config.model.moe.experts = 12;  // so that three groups divide them
  config.training.steps = 102;                                    // so that a step is watched
  config.optimizer.gradients = Config::StateDType::fp32;          // as those of several micro-batches are
  return config;
}

TEST(ConfigFields, EachKeyReachesItsOwnMember) {
  for (const ConfigField& field : config_fields()) {
    Config config;
    field.set(config, other_value(field));
    for (const ConfigField& other : config_fields()) {
      const bool changed = other.key == field.key && other_value(field) != field.get(Config{});
      EXPECT_EQ(other.get(config) != other.get(Config{}), changed) << field.key << " seen through " << other.key;
    }
  }
}

TEST(ConfigFields, KeysAreUniqueAndInSections) {
  std::set<std::string_view> keys;
  std::set<std::string_view> sections;
  for (const ConfigSection& section : config_sections()) sections.insert(section.name);
  for (const ConfigField& field : config_fields()) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    EXPECT_TRUE(sections.contains(field.key.substr(0, field.key.find('.')))) << field.key;
  }
}

TEST(ConfigFields, DefaultsAreInRange) {
  for (const ConfigField& field : config_fields()) {
    if (field.required) continue;
    EXPECT_EQ(config_violation(field, field.get(Config{})), std::nullopt) << field.key;
  }
}

TEST(ShowConfig, ReadsBackToTheSameValues) {
  for (const Config::Family family :
       {Config::Family::llama3, Config::Family::deepseek_v3, Config::Family::qwen3, Config::Family::qwen3_moe}) {
    const Config config = all_changed(family);
    const LoadedConfig back = parse_config(show_config(config), "shown.toml");
    EXPECT_EQ(back.config, config) << show_config(config);
  }
}

TEST(ShowConfig, PutsOriginsIntoComments) {
  const LoadedConfig loaded = parse_config(minimal_config, "a\nb.toml");
  const std::string shown = show_config(loaded.config, loaded.origins);
  EXPECT_TRUE(contains(shown, "\ndim = 64                                     # a\\x0ab.toml:3\n"));
  EXPECT_TRUE(contains(shown, "\nrope_theta = 500000.0                        # default\n"));
  EXPECT_EQ(parse_config(shown, "shown.toml").config, loaded.config);
}

TEST(DiffConfig, NamesWhatDiffers) {
  const Config left;
  Config right;
  EXPECT_TRUE(diff_config(left, right).empty());
  right.optimizer.lr = 0.25;
  right.schedule.decay = Config::Decay::sqrt;
  const auto differences = diff_config(left, right);
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0].key, "optimizer.lr");
  EXPECT_EQ(differences[0].left, "0.0");
  EXPECT_EQ(differences[0].right, "0.25");
  EXPECT_EQ(differences[1].right, "\"sqrt\"");
}

TEST(ConfigJson, NestsAsTheTomlDoes) {
  const LoadedConfig loaded = parse_config(minimal_config, "run.toml");
  const auto json = config_json(loaded.config);
  EXPECT_EQ(json["model"]["dim"], 64);
  EXPECT_EQ(json["model"]["rope_scaling"]["factor"], 1.0);
  EXPECT_EQ(json["data"]["train"], nlohmann::json::array({"train.tok"}));
  EXPECT_EQ(json["precision"]["fp8_format"], "auto");
  EXPECT_EQ(json.begin().key(), "model");
  EXPECT_EQ(origins_json(loaded.origins)["model.dim"], "run.toml:3");
  const auto had = std::ranges::count_if(
      config_fields(), [](const ConfigField& field) { return has_field(Config::Family::llama3, field); });
  EXPECT_EQ(origins_json(loaded.origins).size(), had);
}

TEST(ConfigReference, IsCommitted) {
  // OCTET_UPDATE_DOCS=1 writes the page instead of comparing it.
  if (std::getenv("OCTET_UPDATE_DOCS") != nullptr) {
    write_file_atomically("docs/configuration.md", config_reference_markdown());
  }
  EXPECT_EQ(read_file("docs/configuration.md"), config_reference_markdown())
      << "run this test with OCTET_UPDATE_DOCS=1 and commit docs/configuration.md";
}

TEST(ShippedConfigs, Load) {
  const Config quickstart = load_config("configs/llama3_quickstart.toml").config;
  EXPECT_EQ(quickstart.model.dim, 256);
  EXPECT_EQ(quickstart.precision.min_size, 0);
  EXPECT_EQ(quickstart.data.validation, std::vector<std::string>{"data/quickstart/validation.tok"});
  const Config debug = load_config("configs/llama3_debug.toml").config;
  EXPECT_EQ(debug.model.dim, 64);
  EXPECT_EQ(debug.training.steps, 10);
  const Config llama3_8b = load_config("configs/llama3_8b.toml").config;
  EXPECT_EQ(llama3_8b.model.vocab_size, 128256);
  EXPECT_EQ(llama3_8b.precision.recipe, Config::Recipe::rowwise);
}

}  // namespace
}  // namespace octet
