// Matrices whose rows lie apart: what an op reads or writes of a wider one.
#pragma once

#include <string_view>

#include "ops/selftest/trial.h"

namespace octet::ops::selftest {

/// The first `cols` columns of each of `rows` rows.
[[nodiscard]] inline std::vector<bf16> first_columns(std::span<const bf16> matrix, Index rows, Index cols) {
  std::vector<bf16> taken;
  const Index stride = rows == 0 ? cols : std::ssize(matrix) / rows;
  for (Index r = 0; r < rows; ++r) {
    const auto row = matrix.subspan(r * stride, cols);
    taken.insert(taken.end(), row.begin(), row.end());
  }
  return taken;
}

/// The same of what an op has written into `matrix`, which held `before`: nothing else may have changed.
[[nodiscard]] inline std::vector<bf16> written_columns(Trial& trial, std::string_view name,
                                                       std::span<const bf16> matrix, Index rows, Index cols,
                                                       const std::vector<bf16>& before) {
  const Index stride = rows == 0 ? cols : std::ssize(matrix) / rows;
  for (Index r = 0; r < rows; ++r) {
    const auto kept = before.begin() + r * stride;
    trial.expect_same<bf16>(fmt::format("what lies beside {}", name), matrix.subspan(r * stride + cols, stride - cols),
                            std::vector<bf16>(kept + cols, kept + stride));
  }
  return first_columns(matrix, rows, cols);
}

}  // namespace octet::ops::selftest
