#include "train/device_fault.h"

namespace octet {

std::string describe_fault(const DeviceFault& fault, const ops::Executor& run) {
  const ops::LastOp& last = run.last_op();
  if (last.name.empty()) return fmt::format("{}, before the first op", fault.what());
  const std::string op = last.layer.empty() ? std::string(last.name) : fmt::format("{} of {}", last.name, last.layer);
  if (run.waits_for_each_op()) return fmt::format("{}, in {}", fault.what(), op);
  return fmt::format("{}, in {} or an op before it (runtime.synchronous = true tells which)", fault.what(), op);
}

}  // namespace octet
