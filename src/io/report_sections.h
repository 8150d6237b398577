// The sections of the report below its headline, each a piece of HTML that is complete in itself.
#pragma once

#include <string>

#include "io/report_compare.h"

namespace octet::io {

/// One row per run, and below a demonstration's row what it demonstrates.
[[nodiscard]] std::string summary_section(const Comparison& comparison);

[[nodiscard]] std::string charts_section(const Comparison& comparison);

/// Layer by layer the precision and the reason for it, one folded table per run.
[[nodiscard]] std::string precision_section(const Comparison& comparison);

/// Layer by layer how far the last watched step was from bf16; empty where no run was watched.
[[nodiscard]] std::string numerics_section(const Comparison& comparison);

/// Planned and measured memory with the categories of the plan, runs side by side.
[[nodiscard]] std::string memory_section(const Comparison& comparison);

/// Machine and libraries, once for all runs that share them.
[[nodiscard]] std::string machine_section(const Comparison& comparison);

/// First the values in which runs differ, then each run's whole configuration, folded, with origins.
[[nodiscard]] std::string configuration_section(const Comparison& comparison);

/// Text that the trained models wrote; empty where no run has any.
[[nodiscard]] std::string samples_section(const Comparison& comparison);

/// How to make each run again: command line, commit, binary.
[[nodiscard]] std::string provenance_section(const Comparison& comparison);

}  // namespace octet::io
