// TOML to Config: files and what they extend, overrides, types, ranges, origins.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "io/config.h"
#include "io/config_fields.h"
#include "io/config_text.h"
#include "io/files.h"
#include "io/text.h"
#include "io/toml_guard.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_extends = 8;

struct Setting {
  ConfigValue value;
  std::string origin;
};
using Settings = std::map<std::string_view, Setting>;  // by the field's own key

/// Where a TOML text came from, for messages and origins: a file, or one --set.
struct Source {
  std::string name;
  bool is_file;

  [[nodiscard]] std::string place(const toml::node& node) const {
    const auto& begin = node.source().begin;
    return is_file && begin.line > 0 ? fmt::format("{}:{}:{}", name, begin.line, begin.column) : name;
  }
  [[nodiscard]] std::string origin(const toml::node& node) const {
    return is_file ? fmt::format("{}:{}", name, node.source().begin.line) : "--set";
  }
};

toml::table parse_toml(std::string_view text, const Source& source) {
  check_toml_text(text, source.name);
  try {
    return toml::parse(text, source.name);
  } catch (const toml::parse_error& error) {
    const std::string reason = printable(error.description());
    if (!source.is_file) throw UserError("{}: {}", source.name, reason);
    const auto& begin = error.source().begin;
    throw UserError("{}:{}:{}: not valid TOML: {}", source.name, begin.line, begin.column, reason);
  }
}

std::string describe(const toml::node& node) {
  if (const auto* text = node.as_string()) return fmt::format("a string \"{}\"", printable(text->get(), 60));
  if (const auto* integer = node.as_integer()) return fmt::format("an integer {}", integer->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("a number {:#}", number->get());
  if (const auto* boolean = node.as_boolean()) return boolean->get() ? "true" : "false";
  if (node.is_table()) return "a table";
  if (node.is_array()) return "a list";
  return "a date or time";
}

std::optional<std::vector<std::string>> strings_in(const toml::node& node) {
  if (const auto* text = node.as_string()) return std::vector{text->get()};
  const auto* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> strings;
  for (const toml::node& entry : *array) {
    const auto* text = entry.as_string();
    if (text == nullptr) return std::nullopt;
    strings.push_back(text->get());
  }
  return strings;
}

/// The node as a value of the field's type, if it has that type. An integer is a number too.
std::optional<ConfigValue> value_for(const ConfigField& field, const toml::node& node) {
  const auto read = [&](const auto& sample) -> std::optional<ConfigValue> {
    using T = std::remove_cvref_t<decltype(sample)>;
    if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      return strings_in(node);
    } else if (const auto* exact = node.as<T>()) {
      return ConfigValue(std::in_place_type<T>, exact->get());
    } else if constexpr (std::is_same_v<T, double>) {
      if (const auto* integer = node.as_integer()) return static_cast<double>(integer->get());
    }
    return std::nullopt;
  };
  return std::visit(read, field.get(Config{}));
}

void read_field(const ConfigField& field, const toml::node& node, const Source& source, Settings& settings) {
  std::optional<ConfigValue> value = value_for(field, node);
  if (!value) {
    throw UserError("{}: {}: expected {}, got {}", source.place(node), field.key, config_type(field), describe(node));
  }
  if (auto* name = std::get_if<std::string>(&*value)) *name = canonical_choice(field, *name);
  if (const auto violation = config_violation(field, *value)) {
    throw UserError("{}: {} {}", source.place(node), field.key, *violation);
  }
  settings.insert_or_assign(field.key, Setting{std::move(*value), source.origin(node)});
}

bool is_section(std::string_view key) {
  const std::string prefix = std::string(key) + ".";
  const auto fields = config_fields();
  return std::any_of(fields.begin(), fields.end(), [&](const ConfigField& f) { return f.key.starts_with(prefix); });
}

/// "did you mean optimizer.lr?": the same last name in another section, else the nearest spelling.
std::string suggestion(std::string_view key) {
  std::vector<std::string_view> candidates;
  for (const ConfigField& field : config_fields()) candidates.push_back(field.key);
  for (const ConfigSection& section : config_sections()) candidates.push_back(section.name);
  const std::string_view last = key.substr(key.rfind('.') + 1);  // all of it without a dot
  for (const std::string_view candidate : candidates) {
    if (candidate.substr(candidate.rfind('.') + 1) == last) return fmt::format("did you mean {}?", candidate);
  }
  const auto nearest = nearest_name(key, candidates);
  return nearest ? fmt::format("did you mean {}?", *nearest) : "see docs/configuration.md for the keys there are";
}

void read_table(const toml::table& table, const std::string& prefix, const Source& source, Settings& settings) {
  for (auto&& [name, node] : table) {
    const std::string key = prefix + std::string(std::string_view(name));
    const ConfigField* field = find_config_field(key);
    if (field != nullptr) {
      read_field(*field, node, source, settings);
    } else if (!is_section(key)) {
      throw UserError("{}: unknown key {}; {}", source.place(node), printable(key), suggestion(key));
    } else if (const toml::table* section = node.as_table()) {
      read_table(*section, key + ".", source, settings);
    } else {
      throw UserError("{}: {}: expected a table, got {}", source.place(node), key, describe(node));
    }
  }
}

void check_version(const toml::table& root, const Source& source) {
  const toml::node* version = root.get("version");
  if (version == nullptr) throw UserError("{}: version is missing; write version = 1 at the top", source.name);
  const auto* number = version->as_integer();
  if (number == nullptr || number->get() != 1) {
    throw UserError("{}: version: this Octet reads version = 1, got {}", source.place(*version), describe(*version));
  }
}

/// Reads the files of a chain, the most basic first. Holds the files being read, in canonical form.
class FileChain {
 public:
  void read(std::string_view text, const fs::path& path, Settings& settings) {
    const Source source{printable(path.string()), true};
    toml::table root = parse_toml(text, source);
    check_version(root, source);
    if (const toml::node* base = root.get("extends")) {
      const std::string place = source.place(*base);
      const auto* name = base->as_string();
      if (name == nullptr) throw UserError("{}: extends: expected a string, got {}", place, describe(*base));
      if (name->get().find('\0') != std::string::npos) throw UserError("{}: extends: the path holds a NUL", place);
      chain_.push_back(canonical(path));
      read_base((path.parent_path() / name->get()).lexically_normal(), place, settings);
      chain_.pop_back();
    }
    root.erase("version");
    root.erase("extends");
    read_table(root, "", source, settings);
  }

 private:
  void read_base(const fs::path& path, const std::string& place, Settings& settings) {
    if (std::find(chain_.begin(), chain_.end(), canonical(path)) != chain_.end()) {
      throw UserError("{}: extends: {} extends this file in turn; remove one of the two", place,
                      printable(path.string()));
    }
    if (chain_.size() > max_extends) {
      throw UserError("{}: extends: more than {} files in a chain; merge some of them", place, max_extends);
    }
    read(read_config(path, place + ": extends: "), path, settings);
  }

  /// As given where the system cannot tell, as for a name that is too long: opening it will say why.
  static fs::path canonical(const fs::path& path) {
    std::error_code error;
    fs::path result = fs::weakly_canonical(path, error);
    return error ? path : result;
  }

  static std::string read_config(const fs::path& path, const std::string& context) {
    try {
      return read_file(path);
    } catch (const UserError& error) {
      throw UserError(context + error.what());
    }
  }

  std::vector<fs::path> chain_;
};

/// Text for a string is taken as it stands, so that a shell's user need not quote it twice; so is a word elsewhere, for
/// the message that then names the type expected.
bool is_bare_text(const ConfigField& field, std::string_view text) {
  const ConfigValue sample = field.get(Config{});
  if (std::holds_alternative<std::string>(sample) || std::holds_alternative<std::vector<std::string>>(sample)) {
    return text.find_first_of("\"'[") != 0;
  }
  const bool is_word = text.find_first_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == 0;
  return is_word && text != "true" && text != "false" && text != "inf" && text != "nan";
}

void read_override(std::string_view override_text, Settings& settings) {
  const Source source{fmt::format("--set {}", printable(override_text)), false};
  const std::size_t equals = override_text.find('=');
  if (equals == std::string_view::npos) throw UserError("{}: write --set section.key=value", source.name);
  const std::string_view key = override_text.substr(0, equals);
  const std::string_view text = override_text.substr(equals + 1);
  const ConfigField* field = find_config_field(key);
  if (field == nullptr) throw UserError("{}: unknown key {}; {}", source.name, printable(key), suggestion(key));

  const std::string toml = is_bare_text(*field, text) ? toml_quoted(text) : std::string(text);
  const toml::table parsed = parse_toml("value = " + toml, source);
  if (parsed.size() != 1) throw UserError("{}: one --set takes one value", source.name);
  read_field(*field, *parsed.get("value"), source, settings);
}

Config::Family family_of(const Settings& settings) {
  const ConfigField& field = *find_config_field("model.family");
  Config config;
  if (const auto setting = settings.find(field.key); setting != settings.end())
    field.set(config, setting->second.value);
  return config.model.family;
}

LoadedConfig resolve(const Settings& settings, const std::string& file) {
  LoadedConfig loaded;
  const Config::Family family = family_of(settings);
  for (const ConfigField& field : config_fields()) {
    const auto setting = settings.find(field.key);
    if (!has_field(family, field)) {
      if (setting == settings.end()) continue;
      throw UserError("{}: {} belongs to model.family = {}, and this model is a \"{}\"; remove the key",
                      setting->second.origin, field.key, family_names(field), config_name(family));
    }
    if (setting != settings.end()) {
      field.set(loaded.config, setting->second.value);
      loaded.origins.emplace(field.key, setting->second.origin);
    } else if (field.required) {
      throw UserError("{}: {} is missing ({}); add it, or pass --set {}=...", file, field.key, field.help, field.key);
    } else {
      loaded.origins.emplace(field.key, "default");
    }
  }
  check_config(loaded.config, loaded.origins);
  return loaded;
}

}  // namespace

LoadedConfig load_config(const fs::path& path, std::span<const std::string> overrides) {
  return parse_config(read_file(path), path, overrides);
}

LoadedConfig parse_config(std::string_view text, const fs::path& path, std::span<const std::string> overrides) {
  Settings settings;
  FileChain().read(text, path, settings);
  for (const std::string& override_text : overrides) read_override(override_text, settings);
  return resolve(settings, printable(path.string()));
}

}  // namespace octet
