// OpTimer: how long an op takes on a device, by itself, on random operands that its cache does not hold.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "cli/bench_operands.h"
#include "cli/bench_timing.h"

namespace octet::cli {

struct TimedOp {
  CallTimes seconds;
  std::size_t places;  ///< where its operands lay, by turns
};

class OpTimer {
 public:
  /// Operands of an op lie in so many places that a device's cache has room for this part of what it moves between two
  /// visits to the same place.
  static constexpr double kMovedOverCache = 8;

  /// `backend` must outlive the timer.
  explicit OpTimer(const ops::Backend& backend)
      : backend_(backend), operands_(backend), cache_bytes_(static_cast<double>(backend.device().cache_bytes())) {}

  /// Tokens of each document, where an op wants packed ones.
  void set_document_length(std::int64_t length) { operands_.set_document_length(length); }

  /// Of an op whose sizes and wishes are set; its pointers are not read.
  template <typename Op>
  [[nodiscard]] TimedOp time(const Op& op) {
    const auto places = static_cast<std::size_t>(std::max(1.0, std::ceil(kMovedOverCache * cache_bytes_ / op.bytes())));
    std::vector<Op> bound(places, op);
    for (Op& each : bound) operands_.bind(each);
    const ops::Workspace workspace = operands_.workspace(op);
    std::size_t next = 0;
    const CallTimes seconds = time_calls(backend_.device(), [&] { backend_.run(bound[next++ % places], workspace); });
    operands_.clear();
    return {seconds, places};
  }

  /// Bytes a second of a copy, read and written, of `ceiling_bytes`.
  [[nodiscard]] double copy_rate() { return copy_rate(ceiling_bytes()); }
  /// The same of a copy of `size` bytes, whose operands take turns as those of other ops do.
  [[nodiscard]] double copy_rate(std::int64_t size) { return rate(ops::Copy{nullptr, nullptr, size}); }
  [[nodiscard]] double fill_rate() { return rate(ops::Zero{nullptr, ceiling_bytes()}); }
  /// Beyond any cache of a GPU, and most of a CPU's.
  [[nodiscard]] std::int64_t ceiling_bytes() const {
    return std::int64_t{1} << (backend_.device().host_memory() ? 27 : 30);
  }
  [[nodiscard]] double cache_bytes() const { return cache_bytes_; }

 private:
  template <typename Op>
  [[nodiscard]] double rate(const Op& op) {
    return op.bytes() / time(op).seconds.median;
  }

  const ops::Backend& backend_;
  Operands operands_;
  double cache_bytes_;
};

}  // namespace octet::cli
