// A backend that has one op alone, and a fault in it; and the question whether the self-test finds that.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "ops/cpu/cpu_backend.h"
#include "ops/selftest/selftest.h"

namespace octet::test {

using namespace ops;  // NOLINT(google-build-using-namespace,google-global-names-in-headers): faults name the op table

/// Spoils what the op has just computed.
template <typename Op>
using Fault = void (*)(const Op& op);

/// What is computed in place of the op.
template <typename Op>
using Mistake = Op (*)(Op op);

template <typename Op>
Op no_mistake(Op op) {
  return op;
}

/// Runs one op on the CPU, perhaps another than it should, and spoils the result.
template <typename Op>
class FaultyDevice : public Device {
 public:
  FaultyDevice(Mistake<Op> mistake, Fault<Op> fault) : mistake_(mistake), fault_(fault) {}

  [[nodiscard]] std::string description() const override { return "cpu with a fault"; }
  [[nodiscard]] std::vector<fp8::FormatFamily> families() const override { return cpu_->device().families(); }
  [[nodiscard]] ArenaAllocator allocator() override { return cpu_->device().allocator(); }

  static void run(Device& device, const Op& op, Workspace workspace) {
    const auto& self = static_cast<const FaultyDevice&>(device);
    self.cpu_->run(self.mistake_(op), workspace);
    self.fault_(op);
  }
  static std::size_t workspace_bytes(const Device& device, const Op& op) {
    const auto& self = static_cast<const FaultyDevice&>(device);
    return self.cpu_->workspace_bytes(self.mistake_(op));
  }

 private:
  std::unique_ptr<Backend> cpu_ = make_cpu_backend(1);
  Mistake<Op> mistake_;
  Fault<Op> fault_;
};

/// The results of a backend that has this op alone.
template <typename Op>
SelftestResult result_with(Mistake<Op> mistake, Fault<Op> fault) {
  OpTable table;
  std::get<Entry<Op>>(table) = {&FaultyDevice<Op>::run, &FaultyDevice<Op>::workspace_bytes};
  const Backend backend("faulty", std::make_unique<FaultyDevice<Op>>(mistake, fault), table);
  SelftestResult found;
  for (const SelftestResult& result : run_selftest(backend, SelftestLevel::quick)) {
    EXPECT_EQ(result.supported, result.op == Op::name);
    if (result.supported) found = result;
  }
  return found;
}

/// `part` must appear in the message: the fault itself was found, not something else.
template <typename Op>
void expect_caught(std::string_view part, const SelftestResult& result) {
  EXPECT_FALSE(result.passed()) << Op::name << " hides: " << part;
  EXPECT_NE(result.message.find(part), std::string::npos) << result.message;
  EXPECT_EQ(result.message.find(Op::name), 0U) << result.message;
}
template <typename Op>
void expect_caught(std::string_view part, Fault<Op> fault) {
  expect_caught<Op>(part, result_with<Op>(no_mistake<Op>, fault));
}
template <typename Op>
void expect_mistake_caught(std::string_view part, Mistake<Op> mistake) {
  expect_caught<Op>(part, result_with<Op>(mistake, [](const Op&) {}));
}

/// Moves a number by `ulps` of its own bf16 precision.
inline void move(bf16& x, int ulps) {
  x.bits = static_cast<std::uint16_t>(x.bits + ulps);
}

}  // namespace octet::test
