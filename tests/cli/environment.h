// Variables of the environment that a test sets for the programs it runs.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace octet::test {

/// The environment of this process, which octet inherits, for as long as the object lives.
class Environment {
 public:
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment();

  void set(const char* name, const std::string& value);

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace octet::test
