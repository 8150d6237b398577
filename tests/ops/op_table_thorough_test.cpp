// The op table on the CPU with its larger shapes.
#include <gtest/gtest.h>

#include "ops/cpu/cpu_backend.h"
#include "ops/op_table_results.h"

namespace octet::test {
namespace {

TEST(OpTableThorough, EveryOpAgreesWithTheOracleWithAnyNumberOfThreads) {
  const auto one_thread = ops::run_selftest(*ops::make_cpu_backend(1), ops::SelftestLevel::thorough);
  const auto three_threads = ops::run_selftest(*ops::make_cpu_backend(3), ops::SelftestLevel::thorough);
  expect_all_passed("cpu, threads: 1", one_thread);
  expect_all_passed("cpu, threads: 3", three_threads);
  expect_same_bits("cpu, threads: 3", three_threads, one_thread);
  print_results("thorough", one_thread);
}

}  // namespace
}  // namespace octet::test
