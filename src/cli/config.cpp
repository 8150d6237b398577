// octet config show|diff: a configuration as resolved, with the origin of each value; what two have different.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "io/config_text.h"

namespace octet::cli {
namespace {

struct ConfigOptions {
  std::string first, second;
  std::vector<std::string> set;
  bool json = false;
};

void show(const ConfigOptions& options) {
  const LoadedConfig loaded = load_config(options.first, options.set);
  if (options.json) {
    const nlohmann::ordered_json all = {{"config", config_json(loaded.config)},
                                        {"origins", origins_json(loaded.origins)}};
    fmt::print("{}\n", all.dump(2));
  } else {
    fmt::print("{}", show_config(loaded.config, loaded.origins));
  }
}

void diff(const ConfigOptions& options) {
  const auto differences = diff_config(load_config(options.first).config, load_config(options.second).config);
  if (options.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const auto& [key, left, right] : differences) all.push_back({{"key", key}, {"left", left}, {"right", right}});
    fmt::print("{}\n", all.dump(2));
    return;
  }
  for (const auto& [key, left, right] : differences) fmt::print("{}: {} -> {}\n", key, left, right);
}

}  // namespace

void add_config(CLI::App& app) {
  auto options = std::make_shared<ConfigOptions>();
  CLI::App* command = app.add_subcommand("config", "Show or compare configurations");
  command->require_subcommand(1);
  CLI::App* show_command = command->add_subcommand("show", "Print every key with its value and origin, as TOML");
  show_command->add_option("config", options->first, "TOML file")->required();
  show_command->add_option("--set", options->set, "Override one key (repeatable)")->take_all()->allow_extra_args(false);
  show_command->add_flag("--json", options->json, "Print JSON");
  show_command->callback([options] { show(*options); });
  CLI::App* diff_command = command->add_subcommand("diff", "Print the keys in which two configurations differ");
  diff_command->add_option("first", options->first, "TOML file")->required();
  diff_command->add_option("second", options->second, "TOML file")->required();
  diff_command->add_flag("--json", options->json, "Print JSON");
  diff_command->callback([options] { diff(*options); });
  CLI::App* reference = command->add_subcommand("reference", "Print docs/configuration.md");
  reference->callback([] { fmt::print("{}", config_reference_markdown()); });
}

}  // namespace octet::cli
