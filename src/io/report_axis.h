// One axis of a chart: its range, where a value lies on it, and the ticks with their labels.
#pragma once

#include <string>
#include <vector>

namespace octet::io {

enum class Scale {
  linear,
  whole,  ///< linear, with ticks at whole numbers: steps
  logarithmic
};

struct Tick {
  double value = 0;
  std::string label;
};

class Axis {
 public:
  /// Covers [low, high], both finite, and maps low to `first` and high to `last` (in units of the drawing; an upright
  /// axis has last < first). Equal ends are spread apart. A logarithmic axis needs low > 0. Makes at most `most_ticks`
  /// ticks at round values: at least two, or one where there is only one whole number.
  Axis(double low, double high, Scale scale, double first, double last, int most_ticks);

  /// Where `value` lies; outside the range it lies outside [first, last].
  [[nodiscard]] double position(double value) const;

  /// The inverse of position().
  [[nodiscard]] double value_at(double position) const;

  [[nodiscard]] const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  [[nodiscard]] double project(double value) const;
  void make_linear_ticks(int most_ticks);
  void make_logarithmic_ticks(int most_ticks);

  double low_;
  double high_;
  Scale scale_;
  double first_;
  double last_;
  std::vector<Tick> ticks_;
};

}  // namespace octet::io
