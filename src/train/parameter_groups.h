// Parameter groups: which parameters decay, and how fast each learns, by patterns on their names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/parameters.h"

namespace octet {

/// What the optimizer does differently for a parameter.
struct ParameterGroup {
  double weight_decay = 0;
  double lr_scale = 1;  ///< multiplies the schedule's rate
  friend bool operator==(const ParameterGroup&, const ParameterGroup&) = default;
};

/// A rule as the configuration writes it, "GLOB: weight_decay=0, lr_scale=0.5".
struct ParameterGroupRule {
  std::string text;
  std::string pattern;
  bool sets_weight_decay = false;
  bool sets_lr_scale = false;
  ParameterGroup group;
};

/// Throws UserError where a rule is not of that form or a value is negative or not finite.
[[nodiscard]] ParameterGroupRule parse_parameter_group(const std::string& text);

/// One group per parameter, in the order of slabs and of their parameters. The first rule that matches a parameter's
/// name decides; what it does not set, and everything without a rule, is `common`.
/// Throws UserError where a rule matches no parameter, or only such as earlier rules have taken.
[[nodiscard]] std::vector<std::vector<ParameterGroup>> assign_parameter_groups(const Parameters& parameters,
                                                                               const std::vector<std::string>& rules,
                                                                               const ParameterGroup& common);

/// The parameters that one group has.
struct ParameterGroupSize {
  ParameterGroup group;
  std::int64_t parameters = 0;
  std::int64_t elements = 0;
};

/// The groups that differ, in the order of their first parameters. `groups` as assign_parameter_groups() returns them.
[[nodiscard]] std::vector<ParameterGroupSize> count_parameter_groups(
    const Parameters& parameters, const std::vector<std::vector<ParameterGroup>>& groups);

}  // namespace octet
