#include "data/mix_rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>

#include "core/error.h"
#include "core/glob.h"

namespace octet {
namespace {

constexpr const char* kRuleForm = "write it as \"GLOB: WEIGHT\", such as \"data/web*: 0.7\"";

std::string_view trim_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

struct Rule {
  std::string_view pattern;
  double weight = 0;
};

Rule parse_rule(const std::string& text) {
  const std::size_t colon = text.rfind(':');  // a path may have colons of its own
  if (colon == std::string::npos) throw UserError("data.mix \"{}\" has no weight: {}", text, kRuleForm);
  const std::string_view whole = text;
  Rule rule{trim_spaces(whole.substr(0, colon)), 0};
  const std::string_view weight = trim_spaces(whole.substr(colon + 1));
  if (rule.pattern.empty()) throw UserError("data.mix \"{}\" has no pattern: {}", text, kRuleForm);
  const auto [end, error] = std::from_chars(weight.data(), weight.data() + weight.size(), rule.weight);
  if (error != std::errc() || end != weight.data() + weight.size() || !std::isfinite(rule.weight)) {
    throw UserError("data.mix \"{}\": the weight \"{}\" is no number: {}", text, weight, kRuleForm);
  }
  if (rule.weight <= 0) {
    throw UserError("data.mix \"{}\": a weight must be above 0, is {}: remove the rule and its files from data.train",
                    text, rule.weight);
  }
  return rule;
}

/// Shares in proportion to the weights: rounded down, and what is then missing goes to those that lost most.
std::vector<std::uint64_t> shares_of(const std::vector<Rule>& rules, const std::vector<std::string>& texts) {
  const double total =
      std::accumulate(rules.begin(), rules.end(), 0.0, [](double sum, const Rule& rule) { return sum + rule.weight; });
  if (!std::isfinite(total)) throw UserError("data.mix: the weights sum to {}: choose smaller ones", total);
  std::vector<std::uint64_t> shares;
  std::vector<double> lost;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const double exact = rules[i].weight / total * static_cast<double>(kWholeMix);
    shares.push_back(static_cast<std::uint64_t>(exact));
    lost.push_back(exact - std::floor(exact));
    if (shares.back() == 0) {
      throw UserError("data.mix \"{}\": the weight is less than a 2^32nd of all weights, {}: make it larger", texts[i],
                      total);
    }
  }
  std::vector<std::size_t> by_loss(rules.size());
  std::iota(by_loss.begin(), by_loss.end(), std::size_t{0});
  std::ranges::stable_sort(by_loss, std::greater<>(), [&lost](std::size_t i) { return lost[i]; });
  const std::uint64_t given = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
  // Rounding of the doubles can give some units too many, but far fewer than the largest share has.
  if (given > kWholeMix) *std::ranges::max_element(shares) -= given - kWholeMix;
  for (std::uint64_t i = given; i < kWholeMix; ++i) ++shares[by_loss[(i - given) % by_loss.size()]];
  return shares;
}

}  // namespace

std::vector<MixSource> assign_sources(const std::vector<std::string>& paths, const std::vector<std::string>& rules) {
  if (rules.empty()) return {{.rule = {}, .share = kWholeMix, .paths = paths}};
  std::vector<Rule> parsed;
  for (const std::string& rule : rules) parsed.push_back(parse_rule(rule));
  const std::vector<std::uint64_t> shares = shares_of(parsed, rules);
  std::vector<MixSource> sources;
  for (std::size_t i = 0; i < rules.size(); ++i) sources.push_back({rules[i], shares[i], {}});
  for (const std::string& path : paths) {
    const auto taken =
        std::ranges::find_if(parsed, [&path](const Rule& rule) { return glob_matches(rule.pattern, path); });
    if (taken == parsed.end()) {
      throw UserError("data.mix has no rule for {} of data.train: add one, or remove the file", path);
    }
    sources[static_cast<std::size_t>(taken - parsed.begin())].paths.push_back(path);
  }
  for (const MixSource& source : sources) {
    if (source.paths.empty()) {
      throw UserError("data.mix \"{}\" takes no file of data.train: the names are like \"{}\", and the first rule wins",
                      source.rule, paths.front());
    }
  }
  return sources;
}

}  // namespace octet
