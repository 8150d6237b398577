// Error types: one line that says what is wrong, where, and what to do.
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

namespace octet {

/// The user can mend it (a bad key, a missing file, a full disk): the command line prints `message` and exits 2.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : std::runtime_error(message) {}

  template <typename... Args>
  explicit UserError(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// Something failed that no input explains (a device fault, a bug of ours): the command line prints it and exits 1.
class Failure : public std::runtime_error {
 public:
  template <typename... Args>
  explicit Failure(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// A device failed at work that was put on it. It may come to light later than the work at fault.
class DeviceFault : public Failure {
 public:
  using Failure::Failure;
};

/// Throws Failure with the place of the broken assumption.
[[noreturn]] void check_failed(const char* must_hold, std::source_location where);

/// Guards our own bugs, in release builds too: `check(rows > 0, "a cast has rows")`.
inline void check(bool condition, const char* must_hold, std::source_location where = std::source_location::current()) {
  if (!condition) check_failed(must_hold, where);
}

}  // namespace octet
