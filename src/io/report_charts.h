// The charts of the report, built from what the runs recorded.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/report_compare.h"
#include "io/report_svg.h"

namespace octet::io {

/// Training loss, validation loss, gap to bf16, gradient norm, throughput and learning rate, all runs overlaid.
[[nodiscard]] std::vector<Chart> make_charts(const Comparison& comparison);

/// Per run, the CSS classes that give its colour and dash wherever it appears.
[[nodiscard]] std::vector<std::string> run_styles(const Comparison& comparison);

/// The mean of each point and its neighbours, up to `reach` on either side; fewer, but as many on the left as on the
/// right, near the ends, so that the average does not lag. A NaN stays where it is and no average reaches across it.
[[nodiscard]] std::vector<ChartPoint> smoothed(std::span<const ChartPoint> points, std::size_t reach);

}  // namespace octet::io
