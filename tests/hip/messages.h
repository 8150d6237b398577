// What calls say when they fail.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace octet::test {

/// What `call` throws, which must be an `Error`.
template <typename Error, typename Call>
[[nodiscard]] std::string message(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

[[nodiscard]] inline bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace octet::test
