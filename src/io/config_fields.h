// The table of configuration keys: the one place where a key gets its name, range, help and member.
// Reading, checking, printing and docs/configuration.md all walk it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/config.h"

namespace octet {

/// A value as TOML knows it; a choice is its name.
using ConfigValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

/// The numbers a key allows.
struct ConfigRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_excluded = false;
  bool max_excluded = false;
  [[nodiscard]] bool contains(double x) const;
  /// "1 to 8", "above 0", "at least 0 and below 1"; empty without limits.
  [[nodiscard]] std::string text() const;
};

struct ConfigField {
  std::string_view key;  // "model.dim"
  bool required;
  ConfigRange range;                      // of integers and numbers
  std::vector<std::string_view> choices;  // of a choice
  std::string_view help;
  std::span<const Config::Family> families;  // those that have this key; none named: all have it
  ConfigValue (*get)(const Config&);
  void (*set)(Config&, const ConfigValue&);  // the value has the type of get's, and violates nothing
};

/// Whether a model of that family has the key. One that is required is so where it is had.
[[nodiscard]] inline bool has_field(Config::Family family, const ConfigField& field) {
  return field.families.empty() || std::ranges::find(field.families, family) != field.families.end();
}

/// The names of a field's families, each in quotes: '"llama3", "qwen3" or "qwen3_moe"'.
[[nodiscard]] std::string family_names(const ConfigField& field);

struct ConfigSection {
  std::string_view name;
  std::string_view help;
};

/// All sections and all keys, in the order of the documentation; a section's keys stand together.
[[nodiscard]] std::span<const ConfigSection> config_sections();
[[nodiscard]] std::span<const ConfigField> config_fields();

/// The field of a key, or null.
[[nodiscard]] const ConfigField* find_config_field(std::string_view key);

/// What a field holds, to follow "expected": "an integer", "a string or a list of strings".
[[nodiscard]] std::string_view config_type(const ConfigField& field);

/// A choice's other spelling replaced by the one Octet uses.
[[nodiscard]] std::string_view canonical_choice(const ConfigField& field, std::string_view name);

/// What is wrong with a value of the right type ("must be at least 1, is 0"), or nothing.
[[nodiscard]] std::optional<std::string> config_violation(const ConfigField& field, const ConfigValue& value);

}  // namespace octet
