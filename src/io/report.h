// The report on a set of runs: one self-contained HTML file, a table for the terminal, JSON, and the verdicts that fail
// a quickstart. All of it is a pure function of the runs: the same runs give the same bytes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/run_files.h"

namespace octet::io {

/// One HTML document without scripts, fonts or anything else from outside; whatever users named is escaped.
[[nodiscard]] std::string render_report(std::span<const RunRecord> runs);

/// The summary as aligned text of at most 120 columns, each line ended by a newline. Losses and gaps are in nats.
[[nodiscard]] std::string summary_table(std::span<const RunRecord> runs);

/// The summary and the verdicts as indented JSON. A null is a NaN; what was not measured is left out.
[[nodiscard]] std::string summary_json(std::span<const RunRecord> runs);

/// What must fail a quickstart, one line each; empty when all is well. Demonstrations are exempt. Problems are: a run
/// that did not finish, a NaN loss, an FP8 recipe that quantised nothing, a validation loss more than 0.02 nats above
/// the mean of the bf16 runs, and a gap that cannot be computed.
[[nodiscard]] std::vector<std::string> verdicts(std::span<const RunRecord> runs);

}  // namespace octet::io
