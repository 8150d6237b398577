// Walks the op table: every op, every case.
#include "ops/selftest/selftest.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "ops/selftest/checks/attention_checks.h"
#include "ops/selftest/checks/cast_checks.h"
#include "ops/selftest/checks/deepseek_checks.h"
#include "ops/selftest/checks/embedding_checks.h"
#include "ops/selftest/checks/feed_forward_checks.h"
#include "ops/selftest/checks/gemm_checks.h"
#include "ops/selftest/checks/grouped_product_checks.h"
#include "ops/selftest/checks/head_norm_checks.h"
#include "ops/selftest/checks/loss_checks.h"
#include "ops/selftest/checks/moe_cast_checks.h"
#include "ops/selftest/checks/moe_routing_checks.h"
#include "ops/selftest/checks/moe_swiglu_checks.h"
#include "ops/selftest/checks/norm_checks.h"
#include "ops/selftest/checks/optimizer_checks.h"
#include "ops/selftest/checks/watching_checks.h"

namespace octet::ops {
namespace {

using selftest::OpCheck;
using selftest::Refused;
using selftest::Trial;

template <typename Op, typename Case>
void run_case(const Backend& backend, const Case& c, SelftestResult& result) {
  Trial trial(backend);
  try {
    OpCheck<Op>::run(trial, c);
  } catch (const Refused& refused) {
    ++result.refused;
    result.refusal = refused.reason;
    return;
  } catch (const std::exception& error) {
    trial.fail(error.what());
  }
  ++result.cases;
  result.worst_error = std::max(result.worst_error, trial.worst_error());
  result.digest = trial.mix_outputs(result.digest);
  if (trial.failure().empty()) return;
  ++result.failures;
  if (result.message.empty()) {
    result.message = fmt::format("{} on {}, {}: {}", Op::name, backend.name(), c.describe(), trial.failure());
  }
}

template <typename Op>
SelftestResult check_op(const Backend& backend, SelftestLevel level) {
  static_assert(std::size(OpCheck<Op>::kCases) > 0, "every op has a case");
  SelftestResult result;
  result.op = Op::name;
  result.supported = backend.supports<Op>();
  if (!result.supported) return result;
  for (const auto& c : OpCheck<Op>::kCases) run_case<Op>(backend, c, result);
  if (level == SelftestLevel::quick) return result;
  for (const auto& c : OpCheck<Op>::kThoroughCases) run_case<Op>(backend, c, result);
  return result;
}

template <typename... Ops>
struct EachOp {
  static std::vector<SelftestResult> check(const Backend& backend, SelftestLevel level) {
    return {check_op<Ops>(backend, level)...};
  }
};

}  // namespace

std::vector<SelftestResult> run_selftest(const Backend& backend, SelftestLevel level) {
  return AllOps<EachOp>::check(backend, level);
}

}  // namespace octet::ops
