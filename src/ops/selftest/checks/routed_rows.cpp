// Splits, permutations and the comparison of what grouped ops leave.
#include "ops/selftest/checks/routed_rows.h"

#include <limits>
#include <numeric>

#include "ops/reference/routing.h"

namespace octet::ops::selftest {
namespace {

/// A choice for each routed row: those of a group in the order of their tokens, groups drawn at random.
std::vector<std::int32_t> draw_choices(std::span<const std::int32_t> offsets) {
  std::vector<std::int32_t> choices(static_cast<std::size_t>(offsets.back()));
  std::iota(choices.begin(), choices.end(), 0);
  const auto keys = random_tokens("choices", std::ssize(choices), 1 << 30);
  std::ranges::stable_sort(choices, {}, [&](std::int32_t choice) { return keys[choice]; });
  for (Index e = 0; e + 1 < std::ssize(offsets); ++e) {
    std::sort(choices.begin() + offsets[e], choices.begin() + offsets[e + 1]);
  }
  return choices;
}

template <typename T>
std::span<const T> behind(const T* data, Index used, Index rows, Index cols) {
  return {data + used * cols, static_cast<std::size_t>((rows - used) * cols)};
}

}  // namespace

std::string Split::describe() const {
  return fmt::format("groups of {}{}", fmt::join(sizes.begin(), sizes.begin() + experts, ", "),
                     spare > 0 ? fmt::format(" and room for {} more", spare) : "");
}

RoutedRows::RoutedRows(Trial& trial, const Split& split, Index choices_per_token) : top_k(choices_per_token) {
  offsets.push_back(0);
  for (Index e = 0; e < split.experts; ++e) offsets.push_back(offsets.back() + split.sizes[e]);
  padded_offsets = reference::pad_offsets(offsets);
  used = offsets.back();
  rows = used + split.spare;
  tokens = (used + top_k - 1) / top_k;
  padded = padded_rows(rows, split.experts);
  choices = draw_choices(offsets);
  std::vector<std::int32_t> of_all = choices;
  of_all.resize(static_cast<std::size_t>(rows), static_cast<std::int32_t>(tokens * top_k));
  choice_of_row = trial.input("choice_of_row", of_all);
  groups = {trial.input("offsets", offsets), trial.input("padded_offsets", padded_offsets), split.experts, rows};
}

std::vector<bf16> with_poison(std::vector<bf16> values, Index poison) {
  values.insert(values.end(), poison, bf16{0x7FC0});
  return values;
}

std::vector<float> with_poison(std::vector<float> values, Index poison) {
  values.insert(values.end(), poison, std::numeric_limits<float>::quiet_NaN());
  return values;
}

void expect_row_codes(Trial& trial, const RoutedRows& routed, const RowCodes& codes, std::span<const bf16> values,
                      Index cols) {
  if (!codes.wanted) return;
  trial.expect_row_codes(codes, values, routed.used, cols);
  expect_untouched(trial, "codes", behind(codes.codes, routed.used, routed.rows, cols));
  expect_untouched(trial, "scale_inverse", behind(codes.scale_inverse, routed.used, routed.rows, 1));
  if (codes.amax != nullptr) expect_untouched(trial, "row_amax", behind(codes.amax, routed.used, routed.rows, 1));
}

GroupMaxima group_maxima(Trial& trial, bool measured, const RoutedRows& routed, Index cols) {
  if (!measured) return {};
  return {.amax = trial.output<bf16>("column_amax", routed.groups.experts * cols).data(), .wanted = true};
}

void expect_group_maxima(Trial& trial, const RoutedRows& routed, const GroupMaxima& maxima,
                         std::span<const bf16> values, Index cols) {
  if (!maxima.wanted) return;
  const auto want = routed.column_maxima(values, cols);
  trial.expect_same<bf16>("column_amax", {maxima.amax, want.size()}, want);
}

GroupCodes group_codes(Trial& trial, const fp8::ScaleRule& rule, const RoutedRows& routed,
                       const std::vector<bf16>& amax, Index cols) {
  return {.codes = trial.output<std::uint8_t>("codes transposed", cols * routed.padded).data(),
          .scale_inverse = trial.output<float>("scale_inverse transposed", routed.groups.experts * cols).data(),
          .amax = trial.input("column_amax", amax),
          .rule = rule,
          .wanted = true};
}

void expect_group_codes(Trial& trial, const RoutedRows& routed, const GroupCodes& codes, std::span<const bf16> values,
                        Index cols) {
  const std::span maxima(codes.amax, static_cast<std::size_t>(routed.groups.experts * cols));
  const reference::Codes want = reference::cast_groups(values, maxima, routed.offsets, routed.padded_offsets, cols,
                                                       routed.padded, codes.rule, 0xFF);
  trial.expect_same<float>("scale_inverse transposed", {codes.scale_inverse, want.scale_inverse.size()},
                           want.scale_inverse);
  trial.expect_same<std::uint8_t>("codes transposed", {codes.codes, want.codes.size()}, want.codes);
}

void expect_group_codes_near(Trial& trial, const RoutedRows& routed, const GroupCodes& codes, View want, View beyond,
                             Index cols) {
  for (Index e = 0; e < routed.groups.experts; ++e) {
    const Index first = routed.offsets[e];
    const Index rows = routed.offsets[e + 1] - first;
    std::vector<std::uint8_t> of_group;  // without what it is filled up with
    for (Index col = 0; col < cols; ++col) {
      const std::uint8_t* stretch = codes.codes + col * routed.padded + routed.padded_offsets[e];
      of_group.insert(of_group.end(), stretch, stretch + rows);
    }
    const ColumnCodes dense{.codes = of_group.data(),
                            .scale_inverse = codes.scale_inverse + e * cols,
                            .amax = codes.amax + e * cols,
                            .rule = codes.rule,
                            .wanted = true};
    const View allowed = beyond.subspan(first * cols, rows * cols);
    trial.expect_column_codes_near(dense, want.subspan(first * cols, rows * cols),
                                   Vector(allowed.begin(), allowed.end()), rows, cols);
  }
}

}  // namespace octet::ops::selftest
