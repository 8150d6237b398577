// The op table's own test: every op of a backend against the double-precision oracle, on the machine where it will run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ops/backend.h"

namespace octet::ops {

/// quick takes about a second on a CPU; thorough adds larger shapes.
enum class SelftestLevel : std::uint8_t { quick, thorough };

/// What the cases of one op gave.
struct SelftestResult {
  std::string_view op;
  bool supported = true;     ///< false: the backend has no such op, and nothing ran
  int cases = 0;             ///< that ran
  int failures = 0;          ///< cases that broke a rule
  int refused = 0;           ///< cases that the device says it cannot run
  std::string refusal;       ///< why, of the last of them
  double worst_error = 0;    ///< largest error in units of what its rule allows: at most 1 where all passed
  std::uint64_t digest = 0;  ///< of every output byte: equal for any number of threads
  std::string message;       ///< the first failure: case, element, values; empty where all passed

  /// An op none of whose cases the device runs is not one that it computes.
  [[nodiscard]] bool passed() const { return failures == 0 && cases > 0; }
};

/// Runs every op and compares it by these rules. Casts: codes and scales bitwise. Codes of a fused producer: bitwise
/// those of a cast of its own bf16 output. bf16 outputs: one ulp of the rounded reference, plus what fp32 evaluation
/// may lose to cancellation. Sums in fp32: a bound from the number of terms and their magnitudes. NaN and infinity of
/// the reference: not finite in the output either. Memory: nothing is written outside outputs and workspace, and every
/// buffer is aligned to Memory::kAlignment and reachable from the host.
/// One result per op of the table, in its order. An op that throws fails its case; nothing is thrown.
[[nodiscard]] std::vector<SelftestResult> run_selftest(const Backend& backend, SelftestLevel level);

}  // namespace octet::ops
