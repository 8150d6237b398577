#include "train/prompts.h"

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace octet {
namespace {

std::string prompt_of(std::string_view line, bool is_json, const std::string& place) {
  if (!is_json) return std::string(line);
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("prompt") || !json["prompt"].is_string()) {
    throw UserError("{} is no JSON object with a text called \"prompt\"", place);
  }
  return json["prompt"].get<std::string>();
}

}  // namespace

std::vector<std::string> parse_prompts(std::string_view text, const std::filesystem::path& path) {
  const bool is_json = path.extension() == ".jsonl";
  std::vector<std::string> prompts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string place = fmt::format("{}:{}", path.string(), prompts.size() + 1);
    prompts.push_back(prompt_of(line, is_json, place));
    if (prompts.back().empty()) throw UserError("{} is an empty prompt: give the text to continue", place);
  }
  if (prompts.empty()) throw UserError("{} holds no prompts: give one a line", path.string());
  return prompts;
}

}  // namespace octet
