// JSON of files that others wrote, read strictly: every member is known, has its type, and occurs once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace octet {

/// Parses `text`. Throws UserError, which begins with `file`, for what is no JSON, nests deeper than 16 or has a member
/// twice.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, const std::string& file);

/// The members of an object. Errors name the file and the path of the member in it.
class JsonFields {
 public:
  /// Throws UserError unless `value` is an object whose members are all among `known`.
  JsonFields(std::string file, std::string path, const nlohmann::json& value,
             std::initializer_list<std::string_view> known);

  /// Null where the member is null or absent.
  [[nodiscard]] const nlohmann::json& get(const char* name) const;
  /// Throws UserError where the member is null or absent.
  [[nodiscard]] const nlohmann::json& require(const char* name) const;
  [[nodiscard]] bool boolean(const char* name, bool otherwise) const;
  [[nodiscard]] std::string text(const char* name) const;
  /// A token id, from 0 to kMaxTokens - 1.
  [[nodiscard]] std::int32_t token_id(const char* name) const;
  [[nodiscard]] const nlohmann::json& array(const char* name) const;

  /// "FILE: PATH.name: complaint"
  [[noreturn]] void refuse(std::string_view name, std::string_view complaint) const;

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::string path(std::string_view name) const;

 private:
  std::string file_, path_;
  const nlohmann::json& value_;
};

/// A token id, or UserError "FILE: PATH: ...".
[[nodiscard]] std::int32_t token_id_of(const nlohmann::json& value, const std::string& file, const std::string& path);

}  // namespace octet
