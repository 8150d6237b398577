#include "train/step_range.h"

#include <charconv>
#include <optional>

#include "core/error.h"
#include "io/text.h"

namespace octet {
namespace {

constexpr std::string_view kPrefix = "steps=";

/// A whole number that is all of `text`.
std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<StepRange> split(std::string_view text) {
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const auto dash = text.find('-');
  const auto first = whole_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : whole_number(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return StepRange{*first, *last};
}

}  // namespace

StepRange parse_step_range(std::string_view option, std::string_view text, std::int64_t last_step) {
  const auto refusal = [&](std::string_view why) { return UserError("{} {}: {}", option, printable(text), why); };
  const std::optional<StepRange> range = split(text);
  if (!range) throw refusal("give whole steps, as in steps=10-12");
  if (range->first < 1) throw refusal("steps count from 1");
  if (range->last < range->first) throw refusal("the range ends before it begins, turn it round");
  if (range->last > last_step) throw refusal(fmt::format("the run ends at step {} (training.steps)", last_step));
  return *range;
}

}  // namespace octet
