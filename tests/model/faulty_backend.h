// A CPU backend on which some ops are changed before they run: what a wrong line of the model would ask for.
#pragma once

#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "ops/cpu/cpu_backend.h"

namespace octet::test {

/// Changes an op. Sees the same op when the workspace is measured, with null pointers while a plan is made.
template <typename Op>
using Fault = std::function<void(Op& op)>;

class FaultyDevice : public ops::Device {
 public:
  template <typename Op>
  explicit FaultyDevice(Fault<Op> fault) {
    std::get<Fault<Op>>(faults_) = std::move(fault);
  }

  [[nodiscard]] std::string description() const override { return "cpu with a fault"; }
  [[nodiscard]] std::vector<fp8::FormatFamily> families() const override { return cpu_->device().families(); }
  [[nodiscard]] ArenaAllocator allocator() override { return cpu_->device().allocator(); }

  template <typename Op>
  static void run(ops::Device& device, const Op& op, ops::Workspace workspace) {
    const auto& self = static_cast<const FaultyDevice&>(device);
    self.cpu_->run(self.changed(op), workspace);
  }
  template <typename Op>
  static std::size_t workspace_bytes(const ops::Device& device, const Op& op) {
    const auto& self = static_cast<const FaultyDevice&>(device);
    return self.cpu_->workspace_bytes(self.changed(op));
  }

 private:
  template <typename... Ops>
  using FaultTuple = std::tuple<Fault<Ops>...>;

  template <typename Op>
  [[nodiscard]] Op changed(Op op) const {
    if (const auto& fault = std::get<Fault<Op>>(faults_)) fault(op);
    return op;
  }

  std::unique_ptr<ops::Backend> cpu_ = ops::make_cpu_backend(1);
  ops::AllOps<FaultTuple> faults_;
};

template <typename Op>
void route_through_faulty_device(ops::Entry<Op>& entry) {
  entry = {&FaultyDevice::run<Op>, &FaultyDevice::workspace_bytes<Op>};
}

template <typename Op>
[[nodiscard]] ops::Backend make_faulty_backend(Fault<Op> fault) {
  ops::OpTable table;
  std::apply([](auto&... entries) { (route_through_faulty_device(entries), ...); }, table);
  return {"faulty", std::make_unique<FaultyDevice>(std::move(fault)), table};
}

}  // namespace octet::test
