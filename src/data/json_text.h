// The text in a line of JSON.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Reads one string field out of JSON objects. One for each thread: what it returns lies in its own memory.
class JsonText {
 public:
  /// `field` leads into nested objects with dots: "data.text". Throws UserError where it has an empty part.
  explicit JsonText(const std::string& field);
  JsonText(JsonText&&) noexcept;
  JsonText& operator=(JsonText&&) noexcept;
  ~JsonText();

  /// Bytes that must be readable behind a line; their values do not matter.
  [[nodiscard]] static std::size_t padding();

  struct Result {
    std::string_view text;  ///< valid until the next call
    std::string problem;    ///< "is no valid JSON (...)"; empty: none
  };
  /// The whole line is parsed: UTF-8, nesting of at most 1024, nothing behind the object.
  [[nodiscard]] Result read(std::string_view line);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::vector<std::string> path_;
};

}  // namespace octet
