#include "train/planning_backend.h"

namespace octet {
namespace {

class PlanningDevice final : public ops::Device {
 public:
  explicit PlanningDevice(PlannedMemory memory) : memory_(memory) {}

  [[nodiscard]] std::string description() const override { return "plans only"; }
  [[nodiscard]] std::vector<fp8::FormatFamily> families() const override {
    return {fp8::FormatFamily::ocp, fp8::FormatFamily::fnuz};
  }
  [[nodiscard]] bool recomputes_casts() const override { return memory_ == PlannedMemory::device; }
  [[nodiscard]] ArenaAllocator allocator() override {
    return [](std::size_t) -> std::shared_ptr<std::byte> { throw Failure("the planning backend has no memory"); };
  }
  [[nodiscard]] bool host_memory() const override { return memory_ == PlannedMemory::host; }

 private:
  PlannedMemory memory_;
};

template <typename Op>
void refuse_to_run(ops::Device&, const Op&, ops::Workspace) {
  throw Failure("the planning backend does not run {}", Op::name);
}

template <typename Op>
void fill(ops::Entry<Op>& entry) {
  entry.run = &refuse_to_run<Op>;
}

}  // namespace

std::unique_ptr<ops::Backend> make_planning_backend(PlannedMemory memory) {
  ops::OpTable table;
  std::apply([](auto&... entries) { (fill(entries), ...); }, table);
  return std::make_unique<ops::Backend>("planning", std::make_unique<PlanningDevice>(memory), table);
}

}  // namespace octet
