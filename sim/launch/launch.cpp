// What waves find in their registers: LLVM's "User Guide for AMDGPU Backend", "Initial Kernel Execution State" and
// "Kernel Dispatch"; AMD CDNA4 ISA, 3.13 "GPR Initialization".
#include "sim/launch/launch.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>

#include "core/error.h"
#include "sim/launch/arguments.h"

namespace octet::sim {
namespace {

constexpr std::uint32_t kUnwritten = 0xCDCD'CDCDU;  // what registers and LDS hold before a kernel writes them

std::uint32_t count(const Extent& extent) {
  return extent.x * extent.y * extent.z;
}

std::uint32_t count_waves(const LaunchConfig& config) {
  return (count(config.lanes) + kLanes - 1) / kLanes;
}

/// What is the same for all workgroups of a launch.
struct Task {
  const Program& program;
  const Kernel& kernel;
  const LaunchConfig& config;
  const Memory& memory;
  std::uint64_t arguments;  ///< address
  std::uint64_t packet;     ///< address
  std::uint32_t entry;
};

/// The waves, LDS and scratch of one workgroup at a time; a thread has one and uses it for workgroup after workgroup.
class Workgroup {
 public:
  Workgroup(const Task& task, AccessListener* listener)
      : task_(task),
        listener_(listener),
        waves_(count_waves(task.config)),
        lds_(task.kernel.lds_bytes + task.config.dynamic_lds_bytes),
        scratch_(waves_.size() * kLanes * task.kernel.scratch_bytes),
        executed_(task.program.instructions().size()) {}

  void run(std::uint32_t index);
  [[nodiscard]] const std::vector<std::uint64_t>& executed() const { return executed_; }
  [[nodiscard]] std::uint64_t branches_taken() const {
    return std::accumulate(waves_.begin(), waves_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Wave& wave) { return sum + wave.branches_taken; });
  }

 private:
  void prepare(std::size_t number, const Extent& id);
  void set_sgprs(Wave& wave, const Extent& id) const;
  void set_lanes(Wave& wave, std::size_t number) const;
  void run_wave(std::size_t number, const Extent& id);
  void announce_barrier(const Extent& id) const;
  [[nodiscard]] std::uint64_t present_lanes(std::size_t number) const;

  const Task& task_;
  AccessListener* listener_;
  std::vector<Wave> waves_;
  std::vector<std::byte> lds_;
  std::vector<std::byte> scratch_;
  std::vector<std::uint64_t> executed_;
};

void Workgroup::set_sgprs(Wave& wave, const Extent& id) const {
  const InitialSgprs& initial = task_.kernel.initial;
  std::uint16_t next = 0;
  const auto push = [&](bool wanted, std::uint64_t value, std::uint16_t dwords) {
    if (!wanted) return;
    if (dwords == 1) wave.scalar[next] = static_cast<std::uint32_t>(value);
    if (dwords == 2) wave.set_pair(next, value);
    next = static_cast<std::uint16_t>(next + dwords);
  };
  push(initial.private_segment_buffer, 0, 4);
  push(initial.dispatch_packet, task_.packet, 2);
  push(initial.queue, 0, 2);
  push(initial.arguments, task_.arguments, 2);
  push(initial.dispatch_id, 0, 2);
  push(initial.flat_scratch, 0, 2);
  push(initial.private_segment_size, task_.kernel.scratch_bytes, 1);
  if (initial.preloaded_dwords > 0) {
    const std::uint64_t bytes = std::uint64_t{4} * initial.preloaded_dwords;
    const std::uint64_t from = task_.arguments + std::uint64_t{4} * initial.preload_offset;
    std::memcpy(&wave.scalar[next], task_.memory.translate(from, bytes), bytes);
  }
  next = static_cast<std::uint16_t>(initial.user_count);
  push(initial.workgroup_x, id.x, 1);
  push(initial.workgroup_y, id.y, 1);
  push(initial.workgroup_z, id.z, 1);
}

/// The lanes of a wave that there are: the last wave of a workgroup may have fewer than 64.
std::uint64_t Workgroup::present_lanes(std::size_t number) const {
  const std::size_t rest = count(task_.config.lanes) - number * kLanes;
  return rest >= kLanes ? kAllLanes : (std::uint64_t{1} << rest) - 1;
}

/// v0 holds the lane's place in the workgroup, ten bits for each of x, y and z.
void Workgroup::set_lanes(Wave& wave, std::size_t number) const {
  const Extent& lanes = task_.config.lanes;
  const std::size_t rows = std::min<std::size_t>(std::max(task_.kernel.vgprs, 1U), kFirstAccumulator);
  for (std::size_t row = 0; row < rows; ++row) {
    wave.vector[row].fill(kUnwritten);
    wave.vector[kFirstAccumulator + row].fill(kUnwritten);
  }
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    const auto place = static_cast<std::uint32_t>(number * kLanes) + lane;
    wave.vector[0][lane] = place % lanes.x | place / lanes.x % lanes.y << 10 | place / (lanes.x * lanes.y) << 20;
  }
  wave.set_pair(kExecLo, present_lanes(number));
}

void Workgroup::prepare(std::size_t number, const Extent& id) {
  Wave& wave = waves_[number];
  wave.scalar.fill(kUnwritten);
  wave.set_pair(kVccLo, 0);
  wave.scc = false;
  wave.indexes_registers = false;
  wave.status = Status::running;
  wave.next = task_.entry;
  wave.number = static_cast<std::uint32_t>(number);
  wave.clock = 0;
  wave.lds = lds_;
  wave.scratch_bytes = task_.kernel.scratch_bytes;
  const std::size_t of_wave = std::size_t{wave.scratch_bytes} * kLanes;
  wave.scratch = std::span(scratch_).subspan(number * of_wave, of_wave);
  wave.memory = &task_.memory;
  wave.code = &task_.program.code();
  wave.listener = listener_;
  set_sgprs(wave, id);
  set_lanes(wave, number);
}

/// Until the wave ends or reaches a barrier.
void Workgroup::run_wave(std::size_t number, const Extent& id) {
  Wave& wave = waves_[number];
  const std::vector<Instruction>& instructions = task_.program.instructions();
  const Instruction* instruction = nullptr;
  wave.status = Status::running;
  try {
    while (wave.status == Status::running) {
      if (wave.next >= instructions.size()) throw Failure("runs past the end of the code");
      instruction = &instructions[wave.next++];
      ++executed_[instruction->number];
      ++wave.clock;
      instruction->execute(wave, *instruction);
    }
  } catch (const Failure& failure) {
    const std::uint32_t at = instruction == nullptr ? task_.entry : instruction->number;
    throw Failure("kernel {}, workgroup ({}, {}, {}), wave {}: {}: {}", task_.kernel.name, id.x, id.y, id.z, number,
                  task_.program.place(at), failure.what());
  }
}

void Workgroup::announce_barrier(const Extent& id) const {
  std::vector<Waiting> waiting;
  for (std::size_t number = 0; number < waves_.size(); ++number) {
    const Wave& wave = waves_[number];
    if (wave.status == Status::ended) continue;
    waiting.push_back({wave.number, wave.next - 1, present_lanes(number) & ~wave.exec()});
  }
  try {
    listener_->on_barrier(waiting, waves_.size() - waiting.size());
  } catch (const Failure& failure) {
    throw Failure("kernel {}, workgroup ({}, {}, {}): {}", task_.kernel.name, id.x, id.y, id.z, failure.what());
  }
}

void Workgroup::run(std::uint32_t index) {
  const Extent& grid = task_.config.workgroups;
  const Extent id{index % grid.x, index / grid.x % grid.y, index / (grid.x * grid.y)};
  constexpr auto kByte = static_cast<std::byte>(kUnwritten & 0xFFU);
  std::fill(lds_.begin(), lds_.end(), kByte);
  std::fill(scratch_.begin(), scratch_.end(), kByte);
  for (std::size_t number = 0; number < waves_.size(); ++number) prepare(number, id);
  if (listener_ != nullptr) listener_->on_workgroup(lds_.size());
  for (bool waiting = true; waiting;) {
    waiting = false;
    for (std::size_t number = 0; number < waves_.size(); ++number) {
      if (waves_[number].status == Status::ended) continue;
      run_wave(number, id);
      waiting = waiting || waves_[number].status == Status::at_barrier;
    }
    if (listener_ != nullptr) announce_barrier(id);
  }
}

void check_config(const Kernel& kernel, const LaunchConfig& config, Generation generation) {
  const std::uint64_t lanes = std::uint64_t{config.lanes.x} * config.lanes.y * config.lanes.z;
  if (lanes == 0 || lanes > kernel.largest_workgroup) {
    throw UserError("kernel {} takes workgroups of 1 to {} lanes, not {}: mend the launch, or its launch bounds",
                    kernel.name, kernel.largest_workgroup, lanes);
  }
  const std::uint64_t workgroups = std::uint64_t{config.workgroups.x} * config.workgroups.y * config.workgroups.z;
  if (workgroups == 0 || workgroups > 0xFFFF'FFFFU) {
    throw UserError("kernel {}: a grid has 1 to 4294967295 workgroups, not {}: mend the launch", kernel.name,
                    workgroups);
  }
  const std::uint64_t lds = std::uint64_t{kernel.lds_bytes} + config.dynamic_lds_bytes;
  if (lds > lds_bytes(generation)) {
    throw UserError("kernel {}: {} bytes of LDS are more than a workgroup has: mend the launch", kernel.name, lds);
  }
}

LaunchShape shape(const Kernel& kernel, const LaunchConfig& config) {
  const Extent& grid = config.workgroups;
  return {{grid.x, grid.y, grid.z}, count_waves(config), kernel.scratch_bytes, kernel.spilled_vgprs};
}

/// The fault of the first workgroup that has one, whoever meets it first. Workgroups are begun in order, so that all
/// before it run to their end.
class FirstFault {
 public:
  /// Whether a workgroup before this one has a fault.
  [[nodiscard]] bool is_before(std::int64_t workgroup) {
    const std::lock_guard lock(mutex_);
    return workgroup_ && *workgroup_ < workgroup;
  }
  void note(std::int64_t workgroup, const Failure& failure) {
    const std::lock_guard lock(mutex_);
    if (workgroup_ && *workgroup_ < workgroup) return;
    workgroup_ = workgroup;
    message_ = failure.what();
  }
  void rethrow() const {
    if (workgroup_) throw Failure("{}", message_);
  }

 private:
  std::mutex mutex_;
  std::optional<std::int64_t> workgroup_;
  std::string message_;
};

/// An allocation for as long as a launch runs, for kernels to read.
class Temporary {
 public:
  Temporary(Memory& memory, std::span<const std::byte> bytes, const char* name)
      : memory_(memory), address_(memory.allocate(bytes.size(), name)) {
    memory.write(address_, bytes);
    memory.protect(address_, bytes.size());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() { memory_.release(address_); }
  [[nodiscard]] std::uint64_t address() const { return address_; }

 private:
  Memory& memory_;
  std::uint64_t address_;
};

}  // namespace

std::uint64_t LaunchResult::total() const {
  return std::accumulate(executed.begin(), executed.end(), std::uint64_t{0});
}

LaunchResult launch(const Program& program, std::string_view kernel_name, const LaunchConfig& config,
                    std::span<const std::byte> arguments, Memory& memory, ThreadPool& pool,
                    std::span<AccessListener* const> listeners) {
  const Kernel& kernel = program.object().kernel(kernel_name);
  check_config(kernel, config, program.object().generation);
  check(listeners.empty() || listeners.size() == static_cast<std::size_t>(pool.threads()),
        "each thread of a launch has a listener");
  const Temporary segment(memory, argument_segment(kernel, config, arguments), "kernel arguments");
  const Temporary packet(memory, dispatch_packet(kernel, config), "dispatch packet");
  const Task task{program, kernel, config, memory, segment.address(), packet.address(), program.entry(kernel)};
  const std::uint32_t workgroups = count(config.workgroups);

  bool in_order = program.order_matters(kernel);
  for (AccessListener* listener : listeners) {
    listener->on_launch(shape(kernel, config));
    in_order = in_order || listener->needs_order();
  }

  std::vector<std::optional<Workgroup>> of_thread(static_cast<std::size_t>(pool.threads()));
  FirstFault fault;
  const auto run = [&](std::int64_t index, int thread) {
    if (fault.is_before(index)) return;
    std::optional<Workgroup>& workgroup = of_thread[static_cast<std::size_t>(thread)];
    if (!workgroup) workgroup.emplace(task, listeners.empty() ? nullptr : listeners[static_cast<std::size_t>(thread)]);
    try {
      workgroup->run(static_cast<std::uint32_t>(index));
    } catch (const Failure& failure) {
      fault.note(index, failure);
    }
  };
  if (in_order) {
    for (std::uint32_t index = 0; index < workgroups; ++index) run(index, 0);
  } else {
    pool.run(workgroups, run);
  }
  fault.rethrow();
  LaunchResult result;
  result.executed.resize(program.instructions().size());
  for (const std::optional<Workgroup>& workgroup : of_thread) {
    if (!workgroup) continue;
    result.branches_taken += workgroup->branches_taken();
    for (std::size_t number = 0; number < result.executed.size(); ++number) {
      result.executed[number] += workgroup->executed()[number];
    }
  }
  return result;
}

}  // namespace octet::sim
