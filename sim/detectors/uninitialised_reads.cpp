#include "sim/detectors/uninitialised_reads.h"

#include <algorithm>

#include "core/error.h"
#include "sim/detectors/wording.h"
#include "sim/machine/wave.h"

namespace octet::sim {
namespace {

/// Scalar loads come in powers of two: what a wide one reads beyond a dword more than its half may be padding.
std::size_t bytes_meant(const Access& access) {
  return access.space == Space::scalar && access.bytes > 8 ? access.bytes / 2 + 4 : access.bytes;
}

/// A part of a shadow; empty where the access leaves it, which is another fault.
std::span<std::uint8_t> part(std::span<std::uint8_t> shadow, std::uint64_t first, std::size_t bytes) {
  const bool inside = bytes <= shadow.size() && first <= shadow.size() - bytes;
  return inside ? shadow.subspan(first, bytes) : std::span<std::uint8_t>{};
}

}  // namespace

void UninitialisedReads::on_launch(const LaunchShape& shape) {
  recent_ = nullptr;
  scratch_bytes_ = shape.spilled_vgprs == 0 ? shape.scratch_bytes : 0;
  scratch_.resize(std::size_t{shape.waves} * kLanes * scratch_bytes_);
}

void UninitialisedReads::on_workgroup(std::size_t lds_bytes) {
  lds_.assign(lds_bytes, 0);
  std::fill(scratch_.begin(), scratch_.end(), std::uint8_t{0});
}

std::span<std::uint8_t> UninitialisedReads::global_shadow(std::uint64_t address, std::size_t bytes) {
  if (recent_ == nullptr || !recent_->holds(address, bytes)) recent_ = memory_.find(address);
  if (recent_ == nullptr || recent_->written == nullptr) return {};
  return part({recent_->written, recent_->size}, address - recent_->address, bytes);
}

std::span<std::uint8_t> UninitialisedReads::shadow(const Access& access, std::size_t lane) {
  const std::uint64_t address = access.addresses[lane];
  const std::size_t bytes = bytes_meant(access);
  switch (access.space) {
    case Space::lds:
      return part(lds_, address, bytes);
    case Space::scratch: {
      const std::size_t begin = (std::size_t{access.wave} * kLanes + lane) * scratch_bytes_;
      return part(std::span(scratch_).subspan(begin, scratch_bytes_), address, bytes);
    }
    case Space::global:
    case Space::scalar:
      return global_shadow(address, bytes);
  }
  return {};
}

std::string UninitialisedReads::byte_name(const Access& access, std::uint64_t address) const {
  if (access.space == Space::lds || access.space == Space::scratch) return fmt::format("byte {:#x}", address);
  return fmt::format("byte {} of '{}'", address - recent_->address, recent_->name);
}

void UninitialisedReads::on_access(const Access& access) {
  access.for_each_lane([&](std::size_t lane, std::uint64_t address) {
    const std::span<std::uint8_t> bytes = shadow(access, lane);
    const auto unwritten = std::find(bytes.begin(), bytes.end(), std::uint8_t{0});
    if (unwritten != bytes.end() && access.kind != AccessKind::write) {
      const auto within = static_cast<std::uint64_t>(unwritten - bytes.begin());
      throw Failure("{}: {} was not written before", describe(access, lane, memory_),
                    byte_name(access, address + within));
    }
    if (access.kind != AccessKind::read) std::fill(bytes.begin(), bytes.end(), std::uint8_t{1});
  });
}

}  // namespace octet::sim
