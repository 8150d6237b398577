// The configuration written out.
#include "io/config_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "io/config_fields.h"
#include "io/text.h"

namespace octet {
namespace {

struct TomlText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const {
    std::string text = fmt::format("{}", value);  // the shortest that reads back to the same bits
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  std::string operator()(const std::string& value) const { return toml_quoted(value); }
  std::string operator()(const std::vector<std::string>& values) const {
    std::vector<std::string> quoted;
    quoted.reserve(values.size());
    for (const std::string& value : values) quoted.push_back(toml_quoted(value));
    return fmt::format("[{}]", fmt::join(quoted, ", "));
  }
};

std::string toml_text(const ConfigField& field, const Config& config) {
  return std::visit(TomlText{}, field.get(config));
}

std::string_view section_of(std::string_view key) {
  return key.substr(0, key.find('.'));
}

/// "rope_scaling.factor" of "model.rope_scaling.factor".
std::string_view within_section(std::string_view key) {
  return key.substr(key.find('.') + 1);
}

std::string type_and_range(const ConfigField& field) {
  if (!field.choices.empty()) return fmt::format("`\"{}\"`", fmt::join(field.choices, "\"`, `\""));
  const std::string range = field.range.text();
  return range.empty() ? std::string(config_type(field)) : fmt::format("{}, {}", config_type(field), range);
}

/// "`llama3`, `qwen3` only: "; empty where every family has the key.
std::string only_in(const ConfigField& field) {
  std::string names;
  for (const Config::Family family : field.families) {
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", config_name(family));
  }
  return names.empty() ? "" : names + " only: ";
}

}  // namespace

std::string toml_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\u{:04X}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string show_config(const Config& config, const Origins& origins) {
  std::string text = "version = 1\n";
  std::string_view section;
  for (const ConfigField& field : config_fields()) {
    if (!has_field(config.model.family, field)) continue;
    if (section_of(field.key) != section) {
      section = section_of(field.key);
      text += fmt::format("\n[{}]\n", section);
    }
    const std::string line = fmt::format("{} = {}", within_section(field.key), toml_text(field, config));
    const auto origin = origins.find(field.key);
    text += origin == origins.end() ? line : fmt::format("{:<44} # {}", line, printable(origin->second));
    text += '\n';
  }
  return text;
}

std::vector<ConfigDifference> diff_config(const Config& left, const Config& right) {
  std::vector<ConfigDifference> differences;
  for (const ConfigField& field : config_fields()) {
    if (!has_field(left.model.family, field) && !has_field(right.model.family, field)) continue;
    if (field.get(left) == field.get(right)) continue;
    differences.push_back({std::string(field.key), toml_text(field, left), toml_text(field, right)});
  }
  return differences;
}

nlohmann::ordered_json config_json(const Config& config) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  for (const ConfigField& field : config_fields()) {
    if (!has_field(config.model.family, field)) continue;
    nlohmann::ordered_json* node = &root;
    std::string_view rest = field.key;
    for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      node = &(*node)[std::string(rest.substr(0, dot))];
      rest.remove_prefix(dot + 1);
    }
    std::visit([&](const auto& value) { (*node)[std::string(rest)] = value; }, field.get(config));
  }
  return root;
}

nlohmann::ordered_json origins_json(const Origins& origins) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  for (const ConfigField& field : config_fields()) {
    const auto origin = origins.find(field.key);
    if (origin != origins.end()) root[std::string(field.key)] = origin->second;
  }
  return root;
}

std::string config_reference_markdown() {
  std::string page =
      "# Configuration\n\n"
      "A run is described by a TOML file. `version = 1` stands at its top. `extends = \"other.toml\"`, a path beside\n"
      "the file itself, takes every value from there that the file does not set; chains end after 8 files.\n"
      "`--set section.key=value` on the command line wins over files. An unknown key, a wrong type and a value out of\n"
      "range are errors. `octet config show` prints each value with its origin.\n\n"
      "This page is generated from the table that the reader uses.\n";
  for (const ConfigSection& section : config_sections()) {
    page += fmt::format("\n## [{}]\n\n{}\n\n| key | default | value | meaning |\n|---|---|---|---|\n", section.name,
                        section.help);
    for (const ConfigField& field : config_fields()) {
      if (section_of(field.key) != section.name) continue;
      const std::string fallback = field.required ? "required" : fmt::format("`{}`", toml_text(field, Config{}));
      const std::string family = only_in(field);
      page += fmt::format("| `{}` | {} | {} | {}{} |\n", within_section(field.key), fallback, type_and_range(field),
                          family, field.help);
    }
  }
  return page;
}

}  // namespace octet
