// What the op table's tests ask of the results of a self-test.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "ops/selftest/selftest.h"

namespace octet::test {

inline void expect_all_passed(std::string_view backend, const std::vector<ops::SelftestResult>& results) {
  for (const ops::SelftestResult& result : results) {
    EXPECT_TRUE(result.supported) << backend << " has no " << result.op;
    EXPECT_TRUE(result.passed()) << backend << ": " << result.failures << " of " << result.cases << " cases, first "
                                 << result.message;
  }
}

inline void expect_same_bits(std::string_view backend, const std::vector<ops::SelftestResult>& results,
                             const std::vector<ops::SelftestResult>& expected) {
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].digest, expected[i].digest) << backend << ": other bits of " << results[i].op;
  }
}

inline void print_results(std::string_view title, const std::vector<ops::SelftestResult>& results) {
  fmt::print("{:<23} cases  largest error / allowed\n", title);
  for (const ops::SelftestResult& result : results) {
    fmt::print("{:<23} {:>5}  {:.3f}\n", result.op, result.cases, result.worst_error);
  }
}

}  // namespace octet::test
