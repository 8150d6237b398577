// Ranges: named, nested spans of the host's time on the timeline of a profiler that watches from outside, such as
// Nsight Systems, which shows them over the kernels that were launched in them.
#pragma once

#include <string_view>

namespace octet::gpu {

class Ranges {
 public:
  Ranges() = default;
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;
  virtual ~Ranges() = default;

  /// The profiler copies the name.
  virtual void begin(std::string_view name) = 0;
  /// Ends the range that began last.
  virtual void end() = 0;
};

/// A range for as long as a scope lasts; nothing where `ranges` is null.
class ScopedRange {
 public:
  ScopedRange(Ranges* ranges, std::string_view name) : ranges_(ranges) {
    if (ranges_ != nullptr) ranges_->begin(name);
  }
  ScopedRange(const ScopedRange&) = delete;
  ScopedRange& operator=(const ScopedRange&) = delete;
  ~ScopedRange() {
    if (ranges_ != nullptr) ranges_->end();
  }

 private:
  Ranges* ranges_;
};

}  // namespace octet::gpu
