#include "sim/detectors/workgroup_races.h"

#include <string>

#include "core/error.h"
#include "sim/detectors/wording.h"

namespace octet::sim {

WorkgroupRaces::WorkgroupRaces(const Program& program, const Memory& memory) : program_(program), memory_(memory) {}

void WorkgroupRaces::on_launch(const LaunchShape& shape) {
  grid_ = shape.workgroups;
  begun_ = 0;
  seen_.assign(1, {});
  latest_.assign(program_.instructions().size(), 0);
  pages_.clear();
  recent_ = nullptr;
}

void WorkgroupRaces::on_workgroup(std::size_t /*lds_bytes*/) {
  ++begun_;
}

/// An instruction always does the same kind of access to global memory.
std::uint32_t WorkgroupRaces::number_of(const Access& access) {
  std::uint32_t& latest = latest_[access.instruction.number];
  const std::uint32_t workgroup = begun_ - 1;
  if (latest == 0 || seen_[latest].workgroup != workgroup) {
    latest = static_cast<std::uint32_t>(seen_.size());
    const bool coherent =
        access.kind == AccessKind::update || program_.text(access.instruction.number).find(" sc1") != std::string::npos;
    seen_.push_back({workgroup, access.instruction.number, access.kind, coherent});
  }
  return latest;
}

WorkgroupRaces::Byte& WorkgroupRaces::shadow(std::uint64_t address) {
  const std::uint64_t number = address / kPageBytes;
  if (recent_ == nullptr || recent_number_ != number) {
    std::unique_ptr<Page>& page = pages_[number];
    if (page == nullptr) page = std::make_unique<Page>();
    recent_ = page.get();
    recent_number_ = number;
  }
  return (*recent_)[address % kPageBytes];
}

bool WorkgroupRaces::conflict(std::uint32_t earlier, const Seen& now) const {
  const Seen& other = seen_[earlier];
  return earlier != 0 && other.workgroup != now.workgroup && !(other.coherent && now.coherent);
}

/// The number of the earlier access with which this one races, or 0.
std::uint32_t WorkgroupRaces::find_conflict(const Byte& byte, const Seen& now) const {
  if (conflict(byte.writer, now)) return byte.writer;
  if (now.kind == AccessKind::read) return 0;
  if (conflict(byte.reader, now)) return byte.reader;
  return conflict(byte.plain_reader, now) ? byte.plain_reader : 0;
}

void WorkgroupRaces::remember(Byte& byte, std::uint32_t number) const {
  const Seen& now = seen_[number];
  if (now.kind != AccessKind::read) {
    const Seen& first = seen_[byte.writer];
    const bool plainer = first.workgroup == now.workgroup && first.coherent && !now.coherent;
    if (byte.writer == 0 || plainer) byte.writer = number;
    return;
  }
  if (byte.reader == 0) byte.reader = number;
  if (byte.plain_reader == 0 && !now.coherent) byte.plain_reader = number;
}

void WorkgroupRaces::report(const Access& access, std::size_t lane, std::uint64_t address, const Seen& earlier) const {
  const std::uint32_t x = earlier.workgroup % grid_[0];
  const std::uint32_t y = earlier.workgroup / grid_[0] % grid_[1];
  const std::uint32_t z = earlier.workgroup / grid_[0] / grid_[1];
  throw Failure("{}: workgroup ({}, {}, {}) {} byte {:#x} in the same launch: {}", describe(access, lane, memory_), x,
                y, z, verb(earlier.kind), address, program_.place(earlier.instruction));
}

void WorkgroupRaces::on_access(const Access& access) {
  if (access.lanes == 0 || (access.space != Space::global && access.space != Space::scalar)) return;
  const std::uint32_t number = number_of(access);
  access.for_each_lane([&](std::size_t lane, std::uint64_t address) {
    for (std::uint64_t at = address; at < address + access.bytes; ++at) {
      Byte& byte = shadow(at);
      if (const std::uint32_t earlier = find_conflict(byte, seen_[number]); earlier != 0) {
        report(access, lane, at, seen_[earlier]);
      }
      remember(byte, number);
    }
  });
}

}  // namespace octet::sim
