#include "cli/environment.h"

#include <cstdlib>

namespace octet::test {

Environment::~Environment() {
  for (const auto& [name, value] : before_) {
    value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }
}

void Environment::set(const char* name, const std::string& value) {
  const char* before = std::getenv(name);
  before_.try_emplace(name, before == nullptr ? std::nullopt : std::optional<std::string>(before));
  ::setenv(name, value.c_str(), 1);
}

}  // namespace octet::test
