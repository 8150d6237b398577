// A range of optimizer steps as a user names it: "steps=10-12".
#pragma once

#include <cstdint>
#include <string_view>

namespace octet {

/// Steps `first` to `last`, both included, counted from 1.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  [[nodiscard]] bool contains(std::int64_t step) const { return step >= first && step <= last; }
};

/// Reads "steps=10-12" or "steps=10". Throws UserError, naming `option`, for anything else, for step 0, and for a range
/// that ends before it begins or after `last_step`.
[[nodiscard]] StepRange parse_step_range(std::string_view option, std::string_view text, std::int64_t last_step);

}  // namespace octet
