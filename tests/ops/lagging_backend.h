// A CPU backend whose device runs behind the host, as a GPU does: ops wait in a queue until the host waits for them,
// the host cannot touch the memory that they work in, and the clock that times them is made up.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/cpu/cpu_backend.h"

namespace octet::test {

/// An op as the device ran it, in seconds of its own clock.
struct DeviceRun {
  std::string_view op;
  double begin, end;
};

class LaggingDevice final : public ops::Device {
 public:
  explicit LaggingDevice(gpu::Ranges* ranges) : ranges_(ranges) {}

  [[nodiscard]] std::string description() const override { return "cpu behind the host"; }
  [[nodiscard]] std::vector<fp8::FormatFamily> families() const override { return cpu_->device().families(); }
  [[nodiscard]] ArenaAllocator allocator() override {
    return [this](std::size_t bytes) {
      arenas_.push_back(std::make_shared<Arena>(bytes));
      return std::shared_ptr<std::byte>(arenas_.back(), arenas_.back()->data);
    };
  }
  [[nodiscard]] ArenaAllocator shared_allocator() override { return cpu_->device().allocator(); }
  [[nodiscard]] bool host_memory() const override { return false; }
  [[nodiscard]] bool recomputes_casts() const override { return true; }

  void upload(void* to, const void* from, std::size_t bytes) override {
    const auto* first = static_cast<const std::byte*>(from);
    queue_.emplace_back([this, to, copy = std::vector<std::byte>(first, first + bytes)] {
      std::memcpy(to, copy.data(), copy.size());
      clock_ += 10e-6;
    });
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    ++downloads_;
    queue_.emplace_back([=] { std::memcpy(to, from, bytes); });
    finish();
  }
  void finish() override {
    for (const auto& arena : arenas_) arena->allow(PROT_READ | PROT_WRITE);
    for (const auto& work : std::exchange(queue_, {})) work();
    for (const auto& arena : arenas_) arena->allow(PROT_NONE);
  }

  [[nodiscard]] std::int64_t mark() override {
    marks_.push_back(0);
    queue_.emplace_back([this, at = marks_.size() - 1] { marks_[at] = clock_; });
    ++marks_taken_;
    return std::ssize(marks_) - 1;
  }
  [[nodiscard]] double seconds_between(std::int64_t from, std::int64_t to) override {
    finish();
    return marks_.at(static_cast<std::size_t>(to)) - marks_.at(static_cast<std::size_t>(from));
  }
  void forget_marks() override {
    finish();
    marks_.clear();
  }
  [[nodiscard]] gpu::Ranges* ranges() override { return ranges_; }

  [[nodiscard]] const std::vector<DeviceRun>& runs() const { return runs_; }
  [[nodiscard]] int marks_taken() const { return marks_taken_; }
  [[nodiscard]] int downloads() const { return downloads_; }

  /// Runs later. An op lasts one to five microseconds of the made-up clock, an upload ten.
  template <typename Op>
  static void run(ops::Device& device, const Op& op, ops::Workspace workspace) {
    auto& self = static_cast<LaggingDevice&>(device);
    self.queue_.emplace_back([&self, op, workspace] {
      self.cpu_->run(op, workspace);
      const double begin = self.clock_;
      self.clock_ += static_cast<double>(1 + self.runs_.size() % 5) * 1e-6;
      self.runs_.push_back({Op::name, begin, self.clock_});
    });
  }
  template <typename Op>
  static std::size_t workspace_bytes(const ops::Device& device, const Op& op) {
    return static_cast<const LaggingDevice&>(device).cpu_->workspace_bytes(op);
  }

 private:
  /// Pages that a stray read or write of the host ends the test at.
  struct Arena {
    explicit Arena(std::size_t bytes) : size(bytes) {
      void* mapped = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      check(mapped != MAP_FAILED, "the test has memory");
      data = static_cast<std::byte*>(mapped);
    }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() { munmap(data, size); }
    void allow(int access) const { check(mprotect(data, size, access) == 0, "pages can be protected"); }

    std::byte* data;
    std::size_t size;
  };

  std::unique_ptr<ops::Backend> cpu_ = ops::make_cpu_backend(1);
  gpu::Ranges* ranges_;
  std::vector<std::shared_ptr<Arena>> arenas_;
  std::vector<std::function<void()>> queue_;
  double clock_ = 1000;
  std::vector<double> marks_;
  std::vector<DeviceRun> runs_;
  int marks_taken_ = 0;
  int downloads_ = 0;
};

template <typename Op>
void route_through_lagging_device(ops::Entry<Op>& entry) {
  entry = {&LaggingDevice::run<Op>, &LaggingDevice::workspace_bytes<Op>};
}

[[nodiscard]] inline std::unique_ptr<ops::Backend> make_lagging_backend(gpu::Ranges* ranges = nullptr) {
  ops::OpTable table;
  std::apply([](auto&... entries) { (route_through_lagging_device(entries), ...); }, table);
  return std::make_unique<ops::Backend>("lagging", std::make_unique<LaggingDevice>(ranges), table);
}

[[nodiscard]] inline const LaggingDevice& lagging(const ops::Backend& backend) {
  return static_cast<const LaggingDevice&>(backend.device());
}

}  // namespace octet::test
