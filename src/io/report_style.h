// The look of the report.
#pragma once

#include <string_view>

namespace octet::io {

/// The style sheet of the report. Styles of run lines: see run_styles() in report_charts.h.
[[nodiscard]] std::string_view report_style();

}  // namespace octet::io
