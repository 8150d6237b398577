// Where the records of two runs part: tensors held against each other element by element.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/safetensors.h"

namespace octet {

/// A tensor that differs, and its first element that does.
struct TensorDifference {
  std::int64_t step = 0;
  std::string tensor;  ///< "gradient.layers.0.attention.wq.weight"
  FileDType dtype = FileDType::f32;
  std::int64_t row = 0;
  std::int64_t column = 0;
  double left = 0;
  double right = 0;
  std::uint64_t ulp = 0;  ///< of dtype; kNoUlpDistance from a NaN to a number
  std::int64_t differing_elements = 0;
  std::int64_t elements = 0;
  std::optional<double>
      largest_relative;                ///< |l - r| / max(|l|, |r|) over pairs of finite numbers, where there are any
  std::int64_t differing_tensors = 0;  ///< of that step
};

struct RecordsComparison {
  std::int64_t common_steps = 0;
  std::int64_t compared_tensors = 0;  ///< over all steps looked at
  std::optional<TensorDifference> first;
};

/// Goes through the records of both directories, tensors in the model's order, up to the first step that differs. See
/// compare_run_directories for the tolerance. What cannot be compared, and the remedy, is added to `notes`, a line
/// each. Throws UserError where a record is damaged.
[[nodiscard]] RecordsComparison compare_records(const std::filesystem::path& left, const std::filesystem::path& right,
                                                std::uint64_t tolerance_ulp, std::vector<std::string>& notes);

}  // namespace octet
