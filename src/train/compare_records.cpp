#include "train/compare_records.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/ulp.h"
#include "io/text.h"
#include "train/recorder.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// What comparing the elements of two tensors finds.
struct Scan {
  std::size_t first = 0;
  std::size_t differing = 0;
  double left = 0;
  double right = 0;
  std::uint64_t ulp = 0;
  std::optional<double> largest_relative;
};

/// Bytes in a mapped file, which need not be aligned.
template <typename Real>
Real element_of(std::span<const std::byte> bytes, std::size_t index) {
  Real value;
  std::memcpy(&value, bytes.data() + index * sizeof(Real), sizeof(Real));
  return value;
}

void take_relative(Scan& scan, double left, double right) {
  if (!std::isfinite(left) || !std::isfinite(right)) return;
  const double larger = std::max(std::abs(left), std::abs(right));
  const double relative = larger > 0 ? std::abs(left - right) / larger : 0;
  scan.largest_relative = std::max(scan.largest_relative.value_or(0), relative);
}

template <typename Real>
Scan scan_elements(std::span<const std::byte> left, std::span<const std::byte> right, std::uint64_t tolerance_ulp) {
  Scan scan;
  for (std::size_t i = 0; i < left.size() / sizeof(Real); ++i) {
    const auto a = element_of<Real>(left, i);
    const auto b = element_of<Real>(right, i);
    const std::uint64_t ulp = ulp_distance(a, b);
    if (ulp == 0 || (ulp <= tolerance_ulp && ulp != kNoUlpDistance)) continue;
    if (scan.differing++ == 0) {
      scan.first = i;
      scan.left = to_double(a);
      scan.right = to_double(b);
      scan.ulp = ulp;
    }
    take_relative(scan, to_double(a), to_double(b));
  }
  return scan;
}

/// `left` and `right` have the same dtype and shape. None where they are the same.
std::optional<TensorDifference> compare_tensors(const FileTensor& left, const FileTensor& right,
                                                std::uint64_t tolerance_ulp) {
  if (std::ranges::equal(left.bytes, right.bytes)) return std::nullopt;
  const Scan scan = left.dtype == FileDType::bf16 ? scan_elements<bf16>(left.bytes, right.bytes, tolerance_ulp)
                                                  : scan_elements<float>(left.bytes, right.bytes, tolerance_ulp);
  if (scan.differing == 0) return std::nullopt;
  const std::uint64_t columns = left.shape.empty() ? 1 : left.shape.back();
  TensorDifference difference;
  difference.tensor = left.name;
  difference.dtype = left.dtype;
  difference.row = static_cast<std::int64_t>(scan.first / columns);
  difference.column = static_cast<std::int64_t>(scan.first % columns);
  difference.left = scan.left;
  difference.right = scan.right;
  difference.ulp = scan.ulp;
  difference.differing_elements = static_cast<std::int64_t>(scan.differing);
  difference.elements = static_cast<std::int64_t>(left.bytes.size() / file_dtype_bytes(left.dtype));
  difference.largest_relative = scan.largest_relative;
  return difference;
}

SafetensorsFile open_record(const fs::path& path) {
  SafetensorsFile file = SafetensorsFile::open(path);
  if (!file.verify()) throw UserError("{} carries no checksums: octet did not write it", printable(path.string()));
  for (const FileTensor& tensor : file.tensors()) {
    if (tensor.dtype == FileDType::f32 || tensor.dtype == FileDType::bf16) continue;
    throw UserError("{}: tensor \"{}\" is {}, records hold F32 and BF16: octet did not write it",
                    printable(path.string()), printable(tensor.name), file_dtype_name(tensor.dtype));
  }
  return file;
}

void note_once(std::vector<std::string>& notes, std::string note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

bool holds_kind(const SafetensorsFile& file, std::string_view prefix) {
  return std::ranges::any_of(file.tensors(), [&](const FileTensor& tensor) { return tensor.name.starts_with(prefix); });
}

void note_kinds(const SafetensorsFile& left, const SafetensorsFile& right, std::vector<std::string>& notes) {
  for (const auto& [prefix, what] : {std::pair(kGradientPrefix, "gradients"), std::pair(kWeightPrefix, "weights")}) {
    if (holds_kind(left, prefix) == holds_kind(right, prefix)) continue;
    note_once(notes, fmt::format("only the {} run records {}: train the other with --record all",
                                 holds_kind(left, prefix) ? "left" : "right", what));
  }
}

std::string_view who_keeps_none(bool left_keeps, bool right_keeps) {
  if (!left_keeps && !right_keeps) return "the runs keep";
  return left_keeps ? "the right run keeps" : "the left run keeps";
}

/// Adds one step's tensors to `result`.
void compare_step(std::int64_t step, const SafetensorsFile& left, const SafetensorsFile& right,
                  std::uint64_t tolerance_ulp, RecordsComparison& result, std::vector<std::string>& notes) {
  note_kinds(left, right, notes);
  std::int64_t differing = 0;
  for (const FileTensor& tensor : left.tensors()) {
    const FileTensor* other = right.find(tensor.name);
    if (other == nullptr) continue;
    if (other->dtype != tensor.dtype || other->shape != tensor.shape) {
      note_once(notes, "tensors of the same name but of another shape or type are not compared");
      continue;
    }
    ++result.compared_tensors;
    auto difference = compare_tensors(tensor, *other, tolerance_ulp);
    if (!difference) continue;
    ++differing;
    if (result.first) continue;
    difference->step = step;
    result.first = std::move(difference);
  }
  if (result.first) result.first->differing_tensors = differing;
}

}  // namespace

RecordsComparison compare_records(const fs::path& left, const fs::path& right, std::uint64_t tolerance_ulp,
                                  std::vector<std::string>& notes) {
  RecordsComparison result;
  const auto left_records = list_records(left);
  const auto right_records = list_records(right);
  if (left_records.empty() || right_records.empty()) {
    notes.push_back(fmt::format("{} no records, so gradients and weights are not compared: train with --record all",
                                who_keeps_none(!left_records.empty(), !right_records.empty())));
    return result;
  }
  for (const auto& [step, file] : left_records) {
    const auto other = right_records.find(step);
    if (other == right_records.end()) continue;
    ++result.common_steps;
    if (result.first) continue;
    compare_step(step, open_record(file), open_record(other->second), tolerance_ulp, result, notes);
  }
  if (result.common_steps == 0) {
    notes.emplace_back(
        "the runs record different steps, so gradients and weights are not compared: give both the same "
        "--record-every");
  }
  return result;
}

}  // namespace octet
