// The configuration written out: as TOML, as JSON, as differences, and as its reference page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/config.h"

namespace octet {

/// A TOML basic string, quotes included.
[[nodiscard]] std::string toml_quoted(std::string_view text);

/// Every key that the model's family has as a TOML file that load_config reads back to the same values; each line ends
/// with the key's origin in a comment, where `origins` has one.
[[nodiscard]] std::string show_config(const Config& config, const Origins& origins = {});

struct ConfigDifference {
  std::string key;
  std::string left;   // as TOML
  std::string right;  // as TOML
};

/// The keys whose values differ, in the order of the documentation.
[[nodiscard]] std::vector<ConfigDifference> diff_config(const Config& left, const Config& right);

/// Nested as the TOML is: {"model": {"dim": 64, "rope_scaling": {...}, ...}, ...}.
[[nodiscard]] nlohmann::ordered_json config_json(const Config& config);

/// Flat: {"model.dim": "configs/a.toml:5", ...}, in the order of the documentation.
[[nodiscard]] nlohmann::ordered_json origins_json(const Origins& origins);

/// docs/configuration.md.
[[nodiscard]] std::string config_reference_markdown();

}  // namespace octet
