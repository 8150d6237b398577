#include "train/parameter_groups.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/glob.h"

namespace octet {
namespace {

constexpr const char* kForm = "write it as \"GLOB: weight_decay=0, lr_scale=0.5\", with one of the two or both";

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// The part before `separator`, which is removed from `text`; all of it where there is none.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = trim(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

double parse_value(std::string_view value, const std::string& rule) {
  double parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(parsed) || parsed < 0) {
    throw UserError("optimizer.groups \"{}\": \"{}\" is no number from 0 on; {}", rule, value, kForm);
  }
  return parsed;
}

}  // namespace

ParameterGroupRule parse_parameter_group(const std::string& text) {
  ParameterGroupRule rule{.text = text, .pattern = {}, .group = {}};
  std::string_view rest = text;
  rule.pattern = std::string(take_until(rest, ':'));
  if (rule.pattern.empty() || trim(rest).empty()) throw UserError("optimizer.groups \"{}\": {}", text, kForm);
  while (!trim(rest).empty()) {
    std::string_view setting = take_until(rest, ',');
    const std::string_view key = take_until(setting, '=');
    const double value = parse_value(trim(setting), text);
    if (key == "weight_decay" && !rule.sets_weight_decay) {
      rule.sets_weight_decay = true;
      rule.group.weight_decay = value;
    } else if (key == "lr_scale" && !rule.sets_lr_scale) {
      rule.sets_lr_scale = true;
      rule.group.lr_scale = value;
    } else {
      throw UserError("optimizer.groups \"{}\": \"{}\" is unknown or given twice; {}", text, key, kForm);
    }
  }
  return rule;
}

std::vector<std::vector<ParameterGroup>> assign_parameter_groups(const Parameters& parameters,
                                                                 const std::vector<std::string>& rules,
                                                                 const ParameterGroup& common) {
  std::vector<ParameterGroupRule> parsed;
  for (const std::string& rule : rules) parsed.push_back(parse_parameter_group(rule));
  std::vector<bool> used(rules.size());
  const auto group_of = [&](const std::string& name) {
    ParameterGroup group = common;
    for (std::size_t i = 0; i < parsed.size(); ++i) {
      if (!glob_matches(parsed[i].pattern, name)) continue;
      used[i] = true;
      if (parsed[i].sets_weight_decay) group.weight_decay = parsed[i].group.weight_decay;
      if (parsed[i].sets_lr_scale) group.lr_scale = parsed[i].group.lr_scale;
      break;
    }
    return group;
  };
  std::vector<std::vector<ParameterGroup>> groups;
  for (const Slab& slab : parameters.slabs()) {
    std::vector<ParameterGroup>& of_slab = groups.emplace_back();
    for (const Parameter& parameter : slab.parameters()) of_slab.push_back(group_of(parameter.name));
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (used[i]) continue;
    throw UserError("optimizer.groups \"{}\" takes no parameter: the names are like \"{}\", and the first rule wins",
                    rules[i], parameters.slabs().front().parameters().front().name);
  }
  return groups;
}

std::vector<ParameterGroupSize> count_parameter_groups(const Parameters& parameters,
                                                       const std::vector<std::vector<ParameterGroup>>& groups) {
  std::vector<ParameterGroupSize> sizes;
  for (std::size_t slab = 0; slab < groups.size(); ++slab) {
    for (std::size_t i = 0; i < groups[slab].size(); ++i) {
      const ParameterGroup& group = groups[slab][i];
      auto size = std::find_if(sizes.begin(), sizes.end(), [&](const auto& known) { return known.group == group; });
      if (size == sizes.end()) size = sizes.insert(sizes.end(), {group, 0, 0});
      size->parameters += 1;
      size->elements += parameters.slabs()[slab].parameters()[i].numel();
    }
  }
  return sizes;
}

}  // namespace octet
