// Backend: a device and its entry for every op. A backend says which ops it supports; what is missing is an error at
// start, never a fallback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/graph.h"
#include "core/memory.h"
#include "fp8/format_family.h"
#include "gpu/products.h"
#include "gpu/ranges.h"
#include "ops/ops.h"

namespace octet::ops {

/// What a device that runs behind the host was given since it was opened, and how long the host waited for it.
struct DeviceUse {
  std::int64_t launches = 0;  ///< of kernels, products and calls of a vendor's library, copies, clearings
  double waited_seconds = 0;
};

/// What runs the kernels. Each backend derives its own: threads and matrix library here, streams there. Unless it says
/// otherwise its memory is the host's and an op is done when its run returns.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// One line for people: "cpu: 2 threads, avx512_amx, oneDNN 2.6.3".
  [[nodiscard]] virtual std::string description() const = 0;
  /// What its kernels are compiled for, "sm_90" or "gfx942"; empty for a CPU, which has them for several.
  [[nodiscard]] virtual std::string arch() const { return {}; }
  /// The FP8 formats the device computes with; both families for a CPU.
  [[nodiscard]] virtual std::vector<fp8::FormatFamily> families() const = 0;
  [[nodiscard]] virtual ArenaAllocator allocator() = 0;
  /// Bytes of the allocator's memory that nobody holds; nothing where the system gives what there is, as on a CPU.
  [[nodiscard]] virtual std::optional<std::size_t> free_bytes() const { return std::nullopt; }
  /// Memory that host and device address alike, for single ops with little data. The host reads it after `finish`.
  [[nodiscard]] virtual ArenaAllocator shared_allocator() { return allocator(); }

  /// Whether memory of the allocator is the host's own.
  [[nodiscard]] virtual bool host_memory() const { return true; }
  /// Bytes of the cache between the device's kernels and its memory; 0 for a CPU, whose caches are many.
  [[nodiscard]] virtual std::size_t cache_bytes() const { return 0; }
  /// Whether casts shall make their input again from what it was made of, where they can, in place of reading it: less
  /// is stored and read, and more computed, which pays on a GPU. Bits are the same.
  [[nodiscard]] virtual bool recomputes_casts() const { return false; }
  /// Whether attention within packed documents is computed as it is without: same kernels, hence the same bits where
  /// every sequence is one document. A vendor's library may know no documents.
  [[nodiscard]] virtual bool attends_alike() const { return true; }
  /// Nothing for a CPU.
  [[nodiscard]] virtual DeviceUse use() const { return {}; }
  /// Between host memory and memory of the allocator, in the order of the ops; `download` waits for them.
  virtual void upload(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  virtual void download(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  /// Waits for all ops that were run. Throws DeviceFault where the device failed at one.
  virtual void finish() {}

  /// A moment in the order of the ops, for `seconds_between`; all of them are forgotten by `forget_marks`. For devices
  /// whose ops return before they are done.
  [[nodiscard]] virtual std::int64_t mark() { return 0; }
  [[nodiscard]] virtual double seconds_between(std::int64_t, std::int64_t) { return 0; }
  virtual void forget_marks() {}
  /// Where a profiler outside is told of ops and of what they are part of; null where none listens.
  [[nodiscard]] virtual octet::gpu::Ranges* ranges() { return nullptr; }

  /// Whether ops can be captured: run between the two calls, they are kept instead, to be replayed. Ops must have been
  /// run before, so that all they need is loaded; between the two the device takes nothing but ops, or `end_capture`
  /// throws Failure. After any failure `abandon_capture` leaves the device as it was; it does nothing where no capture
  /// is under way.
  [[nodiscard]] virtual bool can_capture() const { return false; }
  virtual void begin_capture() { throw Failure("{} captures no ops", description()); }
  [[nodiscard]] virtual std::unique_ptr<Graph> end_capture() { throw Failure("{} captures no ops", description()); }
  virtual void abandon_capture() noexcept {}
  /// Runs the captured ops, in the order of the others.
  virtual void replay(const Graph&) { throw Failure("{} captures no ops", description()); }

  /// Finds the fastest way of each product that has been run and keeps to it. May overwrite results. Graphs keep what
  /// they were captured with.
  [[nodiscard]] virtual std::vector<octet::gpu::TunedProduct> tune() { return {}; }
  /// Products that have been run in a way that nobody has found to be the fastest, as TunedProduct names them.
  [[nodiscard]] virtual std::vector<std::string> untuned_products() const { return {}; }
};

using Workspace = std::span<std::byte>;

template <typename Op>
struct Entry {
  void (*run)(Device& device, const Op& op, Workspace workspace) = nullptr;
  /// Scratch bytes that `run` needs, from sizes alone; null where it needs none.
  std::size_t (*workspace_bytes)(const Device& device, const Op& op) = nullptr;
  /// Why the device cannot run the op at these sizes and formats; null where it can, and where `refuses` itself is
  /// null.
  const char* (*refuses)(const Op& op) = nullptr;
};

template <typename... Ops>
using EntryTuple = std::tuple<Entry<Ops>...>;
using OpTable = AllOps<EntryTuple>;

class Backend {
 public:
  Backend(std::string name, std::unique_ptr<Device> device, const OpTable& table)
      : name_(std::move(name)), device_(std::move(device)), table_(table) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Device& device() const { return *device_; }

  template <typename Op>
  [[nodiscard]] const Entry<Op>& entry() const {
    return std::get<Entry<Op>>(table_);
  }
  template <typename Op>
  [[nodiscard]] bool supports() const {
    return entry<Op>().run != nullptr;
  }
  template <typename Op>
  [[nodiscard]] std::size_t workspace_bytes(const Op& op) const {
    const auto measure = entry<Op>().workspace_bytes;
    return measure == nullptr ? 0 : measure(*device_, op);
  }
  /// Why the op cannot be run at its sizes and formats; null where it can.
  template <typename Op>
  [[nodiscard]] const char* refusal(const Op& op) const {
    const auto refuses = entry<Op>().refuses;
    return refuses == nullptr ? nullptr : refuses(op);
  }
  /// Throws Failure where the backend lacks the op.
  template <typename Op>
  void require() const {
    if (!supports<Op>()) throw Failure("the {} backend has no {}", name_, Op::name);
  }
  template <typename Op>
  void run(const Op& op, Workspace workspace = {}) const {
    require<Op>();
    entry<Op>().run(*device_, op, workspace);
  }

 private:
  std::string name_;
  std::unique_ptr<Device> device_;
  OpTable table_;
};

}  // namespace octet::ops
