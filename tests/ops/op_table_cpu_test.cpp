// The op table on the CPU: every op at every instruction set that this machine has, with several numbers of threads.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ops/cpu/cpu_backend.h"
#include "ops/op_table_results.h"

namespace octet::test {
namespace {

using ops::CpuIsa;
using ops::make_cpu_backend;
using ops::run_selftest;
using ops::SelftestLevel;
using ops::SelftestResult;

/// Where the matrix library is held below this machine's best, it alone is tried: row kernels do not know.
bool tries_products_alone() {
  return std::getenv("DNNL_MAX_CPU_ISA") != nullptr;  // NOLINT(concurrency-mt-unsafe): nobody sets it
}

std::vector<CpuIsa> available_isas() {
  if (tries_products_alone()) return {ops::detect_cpu_isa()};
  std::vector<CpuIsa> isas;
  for (const CpuIsa isa : {CpuIsa::baseline, CpuIsa::avx2, CpuIsa::avx512}) {
    if (isa <= ops::detect_cpu_isa()) isas.push_back(isa);
  }
  return isas;
}

/// Several at the best level; an odd one at the others, whose work is split by the same code. A sanitizer looks at
/// memory, for which one number is as good as many.
std::vector<int> numbers_of_threads(CpuIsa isa) {
#ifdef __SANITIZE_ADDRESS__
  if (isa <= ops::detect_cpu_isa()) return {3};
#endif
  if (isa == ops::detect_cpu_isa() && !tries_products_alone()) return {1, 2, 3, 7};
  return {1, 3};
}

/// Products run in the matrix library, which has its own kernels for each instruction set.
bool uses_products(std::string_view op) {
  return op == ops::Gemm::name || op == ops::AttentionForward::name || op == ops::AttentionBackward::name ||
         op == ops::GroupedGemm::name || op == ops::GroupedWgrad::name;
}

/// The results that must have the same bits at every instruction set.
std::vector<SelftestResult> without_products(std::vector<SelftestResult> results) {
  std::erase_if(results, [](const SelftestResult& result) { return uses_products(result.op); });
  return results;
}

TEST(OpTableCpu, EveryOpAgreesWithTheOracleAtEveryInstructionSetWithAnyNumberOfThreads) {
  std::vector<SelftestResult> baseline;
  for (const CpuIsa isa : available_isas()) {
    std::vector<SelftestResult> first;
    for (const int threads : numbers_of_threads(isa)) {
      const std::string backend = fmt::format("cpu, {}, threads: {}", ops::name(isa), threads);
      const auto results = run_selftest(*make_cpu_backend(threads, isa), SelftestLevel::quick);
      expect_all_passed(backend, results);
      if (first.empty()) first = results;
      expect_same_bits(backend, results, first);
    }
    if (baseline.empty()) baseline = first;
    expect_same_bits(ops::name(isa), without_products(first), without_products(baseline));
    print_results(ops::name(isa), first);
  }
}

// A plan asks before there is memory: the workspace follows from what is wanted, not from pointers.
TEST(OpTableCpu, WorkspaceForMaximaIsPlannedWithoutPointers) {
  const auto cpu = make_cpu_backend(3);
  const auto bytes = [&](auto op, bool wanted, bf16* amax) {
    op.rows = 64;
    op.columns = {amax, wanted};
    return cpu->workspace_bytes(op);
  };
  const auto expect_planned = [&](const auto& op) {
    bf16 amax{};
    const std::size_t planned = bytes(op, true, nullptr);
    EXPECT_GT(planned, bytes(op, false, nullptr)) << op.name;
    EXPECT_EQ(planned, bytes(op, true, &amax)) << op.name;
  };
  ops::RmsNormForward norm{};
  ops::RmsNormBackward norm_backward{};
  ops::SwigluForward swiglu{};
  ops::SwigluBackward swiglu_backward{};
  ops::QuantizeRows cast{};
  norm.dim = norm_backward.dim = swiglu.dim = swiglu_backward.dim = cast.cols = 96;
  expect_planned(norm);
  expect_planned(norm_backward);
  expect_planned(swiglu);
  expect_planned(swiglu_backward);
  const auto expect_grouped_planned = [&](auto op) {
    bf16 amax{};
    op.dim = 96;
    op.groups = {nullptr, nullptr, 4, 64};
    const std::size_t without = cpu->workspace_bytes(op);
    op.columns = {nullptr, true};
    const std::size_t planned = cpu->workspace_bytes(op);
    op.columns.amax = &amax;
    EXPECT_GT(planned, without) << op.name;
    EXPECT_EQ(planned, cpu->workspace_bytes(op)) << op.name;
  };
  expect_grouped_planned(ops::GatherRows{});
  expect_grouped_planned(ops::GroupedSwigluForward{});
  expect_grouped_planned(ops::GroupedSwigluBackward{});
  swiglu_backward.stored = norm.stored = false;
  expect_planned(swiglu_backward);
  expect_planned(norm);
  expect_planned(cast);
}

}  // namespace
}  // namespace octet::test
