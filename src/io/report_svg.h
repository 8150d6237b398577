// Writes a line chart as an HTML figure: heading, inline SVG, legend. The only source of shapes and text is the Chart.
#pragma once

#include <string>
#include <vector>

#include "io/report_axis.h"

namespace octet::io {

/// A NaN in y breaks the line; the first one of a series is marked in the chart.
struct ChartPoint {
  double x = 0;
  double y = 0;
};

struct ChartSeries {
  std::string label;
  std::string style;               // CSS classes that give colour and dash; see report_style.cpp
  std::vector<ChartPoint> points;  // x increasing
  std::vector<ChartPoint> raw;     // drawn faint behind the line; may be empty
  bool sets_range = true;          // false: may leave the frame rather than flatten the other series
};

struct BandPoint {
  double x = 0;
  double low = 0;
  double high = 0;
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;  // quantity and unit
  std::string when_empty = "Nothing was recorded.";
  std::string note;  // what the reader must know beside the axes; may be empty
  Scale scale = Scale::linear;
  bool from_zero = false;  // the upright axis includes zero
  bool dots = false;       // each point is marked: few points, the line between them is only a guide
  int digits = 4;          // decimals of values shown on hovering
  std::vector<ChartSeries> series;
  std::vector<BandPoint> band;  // x increasing, finite; may be empty
  std::string band_label;
};

/// A chart without any finite point says so instead of drawing axes.
[[nodiscard]] std::string render_chart(const Chart& chart);

}  // namespace octet::io
