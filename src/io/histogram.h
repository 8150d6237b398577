// Counts of values in buckets of equal width, built up value by value.
#pragma once

#include <cstdint>
#include <limits>
#include <map>

namespace octet {

class Histogram {
 public:
  /// Bucket i holds what is at least i * `width` and less than (i + 1) * `width`.
  explicit Histogram(double width) : width_(width) {}

  /// NaN and infinities have no bucket and are left out. |value| / width must stay below 2^63.
  void add(double value);

  [[nodiscard]] double width() const { return width_; }
  /// How many values each bucket holds; empty ones are absent.
  [[nodiscard]] const std::map<std::int64_t, std::uint64_t>& buckets() const { return buckets_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] double sum_of_squares() const { return sum_of_squares_; }
  /// Infinite while there is no value.
  [[nodiscard]] double min() const { return min_; }
  [[nodiscard]] double max() const { return max_; }

 private:
  double width_;
  std::map<std::int64_t, std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double sum_of_squares_ = 0;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
};

}  // namespace octet
