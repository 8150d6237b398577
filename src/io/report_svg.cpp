// The chart writer. Sizes are in units of the drawing, which the page scales to the width it has.
#include "io/report_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "io/report_escape.h"
#include "io/report_text.h"

namespace octet::io {
namespace {

constexpr double kWidth = 520;
constexpr double kHeight = 320;
constexpr double kLeft = 70;
constexpr double kRight = kWidth - 18;
constexpr double kTop = 12;
constexpr double kBottom = kHeight - 54;
constexpr int kMostXTicks = 6;
constexpr int kMostYTicks = 7;
constexpr int kHoverStrips = 48;
constexpr double kColumn = 0.5;  // points closer than this are merged: the eye could not tell them apart

struct Frame {
  Axis x;
  Axis y;
};

bool drawable(double y, Scale scale) {
  return std::isfinite(y) && (scale != Scale::logarithmic || y > 0);
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  [[nodiscard]] bool empty() const { return low > high; }
};

Range x_range(const Chart& chart) {
  Range range;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) range.include(point.x);
  }
  return range;
}

Range y_range(const Chart& chart, bool of_all_series) {
  Range range;
  const auto include = [&](std::span<const ChartPoint> points) {
    for (const ChartPoint& point : points) {
      if (drawable(point.y, chart.scale)) range.include(point.y);
    }
  };
  for (const ChartSeries& series : chart.series) {
    if (!series.sets_range && !of_all_series) continue;
    include(series.points);
    include(series.raw);
  }
  for (const BandPoint& point : chart.band) {
    range.include(point.low);
    range.include(point.high);
  }
  if (chart.from_zero && !range.empty()) range.include(0);
  return range;
}

/// Some air above and below, but none below a zero line.
Range with_margin(Range range, const Chart& chart) {
  if (chart.scale == Scale::logarithmic) return {range.low / 1.15, range.high * 1.15};
  const double margin = (range.high - range.low) * 0.05;
  return {chart.from_zero && range.low == 0 ? 0 : range.low - margin, range.high + margin};
}

std::optional<Frame> make_frame(const Chart& chart) {
  const Range x = x_range(chart);
  Range y = y_range(chart, false);
  if (y.empty()) y = y_range(chart, true);
  if (x.empty() || y.empty()) return std::nullopt;
  y = with_margin(y, chart);
  return Frame{Axis(x.low, x.high, Scale::whole, kLeft, kRight, kMostXTicks),
               Axis(y.low, y.high, chart.scale, kBottom, kTop, kMostYTicks)};
}

/// In drawing units; NaN where the line breaks.
std::vector<ChartPoint> projected(std::span<const ChartPoint> points, const Frame& frame, Scale scale) {
  constexpr double far = 10 * kHeight;  // keeps a runaway value's coordinates short; it is clipped anyway
  std::vector<ChartPoint> result;
  for (const ChartPoint& point : points) {
    const double y = drawable(point.y, scale) ? std::clamp(frame.y.position(point.y), -far, far)
                                              : std::numeric_limits<double>::quiet_NaN();
    result.push_back({frame.x.position(point.x), y});
  }
  return result;
}

/// Keeps the lowest and the highest point of every kColumn, in order, so that a run of any length has a small drawing
/// that looks the same. Points that break the line are all kept.
std::vector<ChartPoint> thinned(std::span<const ChartPoint> points) {
  std::vector<ChartPoint> kept;
  const auto below = [](const ChartPoint& a, const ChartPoint& b) { return a.y < b.y; };
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin + 1;
    if (!std::isnan(points[begin].y)) {
      while (end < points.size() && !std::isnan(points[end].y) && points[end].x < points[begin].x + kColumn) ++end;
    } else {
      while (end < points.size() && std::isnan(points[end].y)) ++end;
    }
    const auto column = points.subspan(begin, end - begin);
    const auto [low, high] = std::minmax_element(column.begin(), column.end(), below);
    kept.push_back(*std::min(low, high));
    if (low != high) kept.push_back(*std::max(low, high));
    begin = end;
  }
  return kept;
}

std::string path_data(std::span<const ChartPoint> points) {
  std::string data;
  bool pen_down = false;
  for (const ChartPoint& point : points) {
    if (std::isnan(point.y)) {
      pen_down = false;
      continue;
    }
    fmt::format_to(std::back_inserter(data), "{}{:.1f} {:.1f}", pen_down ? 'L' : 'M', point.x, point.y);
    pen_down = true;
  }
  return data;
}

void append_axes(std::string& svg, const Chart& chart, const Frame& frame) {
  const auto out = std::back_inserter(svg);
  for (const Tick& tick : frame.y.ticks()) {
    const double y = frame.y.position(tick.value);
    fmt::format_to(out, R"(<line class="grid{}" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)",
                   tick.value == 0 ? " zero" : "", kLeft, kRight, y, y);
    fmt::format_to(out, R"(<text class="tick" x="{}" y="{:.1f}" dy=".35em" text-anchor="end">{}</text>)", kLeft - 8, y,
                   tick.label);
  }
  for (const Tick& tick : frame.x.ticks()) {
    const double x = frame.x.position(tick.value);
    fmt::format_to(out, R"(<line class="mark" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>)", x, x, kBottom, kBottom + 4);
    fmt::format_to(out, R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", x, kBottom + 20,
                   tick.label);
  }
  fmt::format_to(out, R"(<line class="mark" x1="{}" x2="{}" y1="{}" y2="{}"/>)", kLeft, kRight, kBottom, kBottom);
  fmt::format_to(out, R"(<text class="axis" x="{}" y="{}" text-anchor="middle">{}</text>)", (kLeft + kRight) / 2,
                 kHeight - 6, escaped(chart.x_label));
}

void append_band(std::string& svg, const Chart& chart, const Frame& frame) {
  if (chart.band.empty()) return;
  std::vector<ChartPoint> outline;
  for (const BandPoint& point : chart.band) outline.push_back({point.x, point.high});
  for (auto point = chart.band.rbegin(); point != chart.band.rend(); ++point) outline.push_back({point->x, point->low});
  fmt::format_to(std::back_inserter(svg), R"(<path class="band" d="{}Z"/>)",
                 path_data(projected(outline, frame, chart.scale)));
}

/// A cross on the upper edge where the values of a series stop being numbers.
void append_nan_mark(std::string& svg, const ChartSeries& series, const std::string& x_label, const Frame& frame) {
  const auto first = std::find_if(series.points.begin(), series.points.end(),
                                  [](const ChartPoint& point) { return std::isnan(point.y); });
  if (first == series.points.end()) return;
  const double x = frame.x.position(first->x);
  constexpr double arm = 5;
  constexpr double y = kTop + arm + 3;
  fmt::format_to(std::back_inserter(svg),
                 R"(<g class="{}"><title>{}: NaN from {} {:.0f} on</title>)"
                 R"(<path class="nan" d="M{:.1f} {}l{} {}m0 -{}l-{} {}"/>)"
                 R"(<text class="nan-label" x="{:.1f}" y="{}" dy=".35em" text-anchor="end">NaN</text></g>)",
                 series.style, escaped(series.label), escaped(x_label), first->x, x - arm, y - arm, 2 * arm, 2 * arm,
                 2 * arm, 2 * arm, 2 * arm, x - 2 * arm, y);
}

void append_series(std::string& svg, const Chart& chart, const Frame& frame) {
  const auto out = std::back_inserter(svg);
  for (const ChartSeries& series : chart.series) {
    if (series.raw.empty()) continue;
    fmt::format_to(out, R"(<path class="raw {}" d="{}"/>)", series.style,
                   path_data(thinned(projected(series.raw, frame, chart.scale))));
  }
  for (const ChartSeries& series : chart.series) {
    const std::vector<ChartPoint> points = thinned(projected(series.points, frame, chart.scale));
    fmt::format_to(out, R"(<path class="line {}" d="{}"/>)", series.style, path_data(points));
    if (!chart.dots && points.size() > 1) continue;  // one point makes no line
    for (const ChartPoint& point : points) {
      if (std::isnan(point.y)) continue;
      fmt::format_to(out, R"(<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="2.6"/>)", series.style, point.x,
                     point.y);
    }
  }
}

/// Of the points with x in [low, high), the last.
const ChartPoint* last_within(std::span<const ChartPoint> points, double low, double high) {
  const auto before = [](const ChartPoint& point, double x) { return point.x < x; };
  const auto after = std::lower_bound(points.begin(), points.end(), high, before);
  if (after == points.begin() || std::prev(after)->x < low) return nullptr;
  return &*std::prev(after);
}

/// Unseen upright strips whose tooltips list the values under them: hovering without a script.
void append_hover_strips(std::string& svg, const Chart& chart, const Frame& frame) {
  constexpr double width = (kRight - kLeft) / (kHoverStrips - 1);
  for (int strip = 0; strip < kHoverStrips; ++strip) {
    const double left = kLeft + (strip - 0.5) * width;  // the outer strips are centred on the ends of the axis
    std::string text;
    double x = 0;
    for (const ChartSeries& series : chart.series) {
      const ChartPoint* point = last_within(series.points, frame.x.value_at(left), frame.x.value_at(left + width));
      if (point == nullptr) continue;
      x = std::max(x, point->x);
      text += fmt::format("\n{}: {}", series.label, decimal(point->y, chart.digits));
    }
    if (text.empty()) continue;
    fmt::format_to(
        std::back_inserter(svg),
        R"(<rect class="strip" x="{:.1f}" y="{}" width="{:.1f}" height="{}"><title>{} {:.0f}{}</title></rect>)", left,
        kTop, width, kBottom - kTop, escaped(chart.x_label), x, escaped(text));
  }
}

std::string legend(const Chart& chart) {
  std::string html = "<ul class=\"legend\">";
  const auto out = std::back_inserter(html);
  for (const ChartSeries& series : chart.series) {
    fmt::format_to(
        out,
        R"(<li><svg class="key" viewBox="0 0 30 8" aria-hidden="true"><path class="line {}" d="M0 4H30"/></svg>)"
        "{}</li>",
        series.style, escaped(series.label));
  }
  if (!chart.band.empty()) {
    fmt::format_to(
        out,
        R"(<li><svg class="key" viewBox="0 0 30 8" aria-hidden="true"><path class="band" d="M0 0H30V8H0Z"/></svg>)"
        "{}</li>",
        escaped(chart.band_label));
  }
  return html + "</ul>";
}

std::string drawing(const Chart& chart, const Frame& frame) {
  std::string svg = fmt::format(R"(<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}, {} over {}">)",
                                kWidth, kHeight, escaped(chart.title), escaped(chart.y_label), escaped(chart.x_label));
  append_axes(svg, chart, frame);
  // A nested drawing clips what leaves the frame, without an id that would have to be unique in the page.
  fmt::format_to(std::back_inserter(svg), R"(<svg x="{0}" y="{1}" width="{2}" height="{3}" viewBox="{0} {1} {2} {3}">)",
                 kLeft, kTop, kRight - kLeft, kBottom - kTop);
  append_band(svg, chart, frame);
  append_series(svg, chart, frame);
  svg += "</svg>";
  append_hover_strips(svg, chart, frame);
  for (const ChartSeries& series : chart.series) append_nan_mark(svg, series, chart.x_label, frame);
  return svg + "</svg>";
}

}  // namespace

std::string render_chart(const Chart& chart) {
  const std::optional<Frame> frame = make_frame(chart);
  std::string html = fmt::format("<figure><figcaption><h3>{}</h3><p class=\"unit\">{}</p></figcaption>",
                                 escaped(chart.title), escaped(chart.y_label));
  html += frame ? drawing(chart, *frame) + legend(chart) : "<p class=\"empty\">" + escaped(chart.when_empty) + "</p>";
  if (!chart.note.empty()) html += fmt::format("<p class=\"note\">{}</p>", escaped(chart.note));
  return html + "</figure>\n";
}

}  // namespace octet::io
