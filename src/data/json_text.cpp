// Finds a field of a JSON object with simdjson.
#include "data/json_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <utility>

#include "core/error.h"
#include "io/text.h"

namespace octet {

struct JsonText::Parser {
  simdjson::dom::parser dom;
};

JsonText::JsonText(const std::string& field) : parser_(std::make_unique<Parser>()) {
  for (std::size_t begin = 0; begin <= field.size();) {
    const std::size_t end = std::min(field.find('.', begin), field.size());
    if (end == begin) {
      throw UserError("--field \"{}\" has an empty part: name a field like text or data.text", printable(field));
    }
    path_.push_back(field.substr(begin, end - begin));
    begin = end + 1;
  }
}

JsonText::JsonText(JsonText&&) noexcept = default;
JsonText& JsonText::operator=(JsonText&&) noexcept = default;
JsonText::~JsonText() = default;

std::size_t JsonText::padding() {
  return simdjson::SIMDJSON_PADDING;
}

JsonText::Result JsonText::read(std::string_view line) {
  constexpr bool kCopy = false;  // the caller has the padding
  simdjson::dom::element element;
  if (const auto error = parser_->dom.parse(line.data(), line.size(), kCopy).get(element)) {
    return {{}, fmt::format("is no valid JSON ({})", simdjson::error_message(error))};
  }
  for (std::size_t depth = 0; depth < path_.size(); ++depth) {
    const auto name = [&] {
      return printable(
          fmt::format("{}", fmt::join(path_.begin(), path_.begin() + 1 + static_cast<std::ptrdiff_t>(depth), ".")));
    };
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS)
      return {{}, fmt::format("has no field {}: it is not in an object", name())};
    if (object.at_key(path_[depth]).get(element) != simdjson::SUCCESS)
      return {{}, fmt::format("has no field {}", name())};
  }
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) {
    return {{}, fmt::format("has no text in the field {}: it is not a string", fmt::join(path_, "."))};
  }
  return {text, {}};
}

}  // namespace octet
