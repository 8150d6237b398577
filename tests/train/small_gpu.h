// A GPU as a plan sees it: memory that is not the host's, of which so much is free. Its ops take no workspace, and none
// is ever run.
#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "train/engine.h"
#include "train/model_setup.h"

namespace octet::test {

class SmallGpu final : public ops::Device {
 public:
  explicit SmallGpu(std::size_t free_bytes) : free_bytes_(free_bytes) {}

  [[nodiscard]] std::string description() const override { return "a small GPU"; }
  [[nodiscard]] std::vector<fp8::FormatFamily> families() const override { return {fp8::FormatFamily::ocp}; }
  [[nodiscard]] ArenaAllocator allocator() override {
    return [](std::size_t) -> std::shared_ptr<std::byte> { throw Failure("plans allocate nothing"); };
  }
  [[nodiscard]] std::optional<std::size_t> free_bytes() const override { return free_bytes_; }
  [[nodiscard]] bool host_memory() const override { return false; }
  [[nodiscard]] bool recomputes_casts() const override { return true; }

 private:
  std::size_t free_bytes_;
};

/// What a run would plan on a GPU of which so much is free.
[[nodiscard]] inline Engine plan_on_small_gpu(const Config& config, bool keeps_gradients, std::size_t free_bytes = 0) {
  ops::OpTable table;
  const auto fill = []<typename Op>(ops::Entry<Op>& entry) {
    entry.run = [](ops::Device&, const Op&, ops::Workspace) { throw Failure("plans run nothing"); };
  };
  std::apply([&](auto&... entries) { (fill(entries), ...); }, table);
  auto backend = std::make_unique<ops::Backend>("small", std::make_unique<SmallGpu>(free_bytes), table);
  auto model = make_model(config, *backend);
  return {config, std::move(backend), std::move(model), keeps_gradients};
}

}  // namespace octet::test
