// HIP's error codes as exceptions within this library, and what it tells the people who run its client.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/hip/abi.h"

namespace octet::sim::hip {

/// What a call answers when it cannot do what it was asked for. A message, where there is one, says more than the code
/// can, and is reported.
class HipError : public std::runtime_error {
 public:
  explicit HipError(hipError_t code, const std::string& message = "") : std::runtime_error(message), code_(code) {}
  [[nodiscard]] hipError_t code() const { return code_; }

 private:
  hipError_t code_;
};

/// Throws HipError with a message.
template <typename... Args>
[[noreturn]] void refuse(hipError_t code, fmt::format_string<Args...> format, Args&&... args) {
  throw HipError(code, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws HipError without a message, for what its code says well enough.
inline void require(bool condition, hipError_t code) {
  if (!condition) throw HipError(code);
}

/// "hipErrorInvalidValue", as ROCm spells it; nothing for a code that this library does not know.
[[nodiscard]] std::optional<const char*> error_name(hipError_t code);

/// What the code means, in our words; nothing for a code that this library does not know.
[[nodiscard]] std::optional<const char*> error_text(hipError_t code);

/// Prints "cdna-sim: <message>" as one line on stderr, and appends it to `file` where there is one.
void report(const std::string& message, const std::optional<std::filesystem::path>& file);

}  // namespace octet::sim::hip
