// How a test tells a stand-in what to be: numbers in the environment.
#pragma once

#include <cstdlib>
#include <string>

namespace octet::test {

[[nodiscard]] inline long setting(const char* name, long otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtol(value, nullptr, 10);
}

[[nodiscard]] inline std::string text_setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace octet::test
