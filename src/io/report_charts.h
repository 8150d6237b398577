// The charts of the report, built from what the runs recorded.
#pragma once

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

/// Exponential average of `points` over about `span` of them, without the pull towards a start value. A NaN stays where
/// it is and the average starts anew after it.
[[nodiscard]] std::vector<ChartPoint> smoothed(std::span<const ChartPoint> points, double span);

}  // namespace octet::io
