// What tests of memory look at besides values: what a listener is told, and what a Failure says.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "sim/machine/access.h"

namespace octet::sim {

/// Writes down what it is told: space, kind, bytes, lanes, address of lane 1.
class Diary : public AccessListener {
 public:
  using Entry = std::tuple<Space, AccessKind, std::uint32_t, std::uint64_t, std::uint64_t>;

  void on_access(const Access& access) override {
    entries.emplace_back(access.space, access.kind, access.bytes, access.lanes, access.addresses[1]);
  }
  std::vector<Entry> entries;
};

[[nodiscard]] inline std::string failure_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing was thrown";
}

}  // namespace octet::sim
