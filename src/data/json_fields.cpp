// Strict reading on top of nlohmann's parser, which does not recurse.
#include "data/json_fields.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "core/error.h"
#include "data/tokenizer_definition.h"
#include "io/text.h"

namespace octet {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 16;

}  // namespace

json parse_strict_json(std::string_view text, const std::string& file) {
  std::vector<std::unordered_set<std::string>> members;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMaxDepth) throw UserError("{}: nests deeper than {}, which no tokenizer does", file, kMaxDepth);
    if (event == json::parse_event_t::object_start) members.emplace_back();
    if (event == json::parse_event_t::object_end) members.pop_back();
    if (event == json::parse_event_t::key && !members.back().insert(parsed.get_ref<const std::string&>()).second) {
      throw UserError("{}: the member \"{}\" occurs twice in one object", file,
                      printable(parsed.get_ref<const std::string&>()));
    }
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::parse_error& error) {
    throw UserError("{}: not valid JSON at byte {}: the file is damaged, fetch or write it again", file, error.byte);
  } catch (const json::out_of_range&) {
    throw UserError("{}: a number is too large: the file is damaged, fetch or write it again", file);
  }
}

JsonFields::JsonFields(std::string file, std::string path, const json& value,
                       std::initializer_list<std::string_view> known)
    : file_(std::move(file)), path_(std::move(path)), value_(value) {
  if (!value.is_object()) throw UserError("{}: {}: is not an object", file_, path_.empty() ? "the file" : path_);
  for (const auto& [name, member] : value.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) refuse(name, "Octet does not know this member");
  }
}

const json& JsonFields::get(const char* name) const {
  static const json null;
  const auto found = value_.find(name);
  return found == value_.end() ? null : *found;
}

const json& JsonFields::require(const char* name) const {
  const json& member = get(name);
  if (member.is_null()) refuse(name, "is missing");
  return member;
}

bool JsonFields::boolean(const char* name, bool otherwise) const {
  const json& member = get(name);
  if (member.is_null()) return otherwise;
  if (!member.is_boolean()) refuse(name, "is neither true nor false");
  return member.get<bool>();
}

std::string JsonFields::text(const char* name) const {
  const json& member = require(name);
  if (!member.is_string()) refuse(name, "is not a string");
  return member.get<std::string>();
}

std::int32_t JsonFields::token_id(const char* name) const {
  return token_id_of(require(name), file_, path(name));
}

const json& JsonFields::array(const char* name) const {
  const json& member = require(name);
  if (!member.is_array()) refuse(name, "is not a list");
  return member;
}

void JsonFields::refuse(std::string_view name, std::string_view complaint) const {
  throw UserError("{}: {}: {}", file_, path(name), complaint);
}

std::string JsonFields::path(std::string_view name) const {
  const std::string member = printable(name, 100);
  return path_.empty() ? member : path_ + "." + member;
}

std::int32_t token_id_of(const json& value, const std::string& file, const std::string& path) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= static_cast<std::uint64_t>(kMaxTokens)) {
    throw UserError("{}: {}: {} is not a token id, a whole number from 0 to {}", file, path,
                    printable(value.dump(-1, ' ', true, json::error_handler_t::replace), 40), kMaxTokens - 1);
  }
  return value.get<std::int32_t>();
}

}  // namespace octet
