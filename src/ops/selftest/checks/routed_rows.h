// Routed rows of hostile splits: what the checks of grouped ops have in common.
#pragma once

#include "ops/reference/grouped.h"
#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

/// How many routed rows each expert gets, and how many there is room for beyond.
struct Split {
  std::array<std::int16_t, 8> sizes{};
  Index experts = 0;
  Index spare = 0;

  [[nodiscard]] std::string describe() const;
};

inline constexpr Split kHostileSplit{{0, 17, 0, 1, 130, 0}, 6, 5};
inline constexpr Split kUnevenSplit{{16, 127, 129, 33}, 4};
inline constexpr Split kAllInOne{{0, 150, 0}, 3};
inline constexpr Split kOneRow{{1}, 1};
inline constexpr Split kWholeTiles{{128, 0, 256}, 3};
inline constexpr Split kNoRows{{}, 3, 3};
inline constexpr Split kNoRoom{{}, 2};
/// More rows than blocks of a GPU, and a group longer than what a block might hold of it.
inline constexpr Split kManyRows{{2300, 0, 1100, 900}, 4, 7};
/// Short groups, for contents that are hard in themselves.
inline constexpr Split kShortSplit{{5, 0, 11, 1}, 4, 2};

/// Every case with all maxima.
template <typename Case, std::size_t N>
[[nodiscard]] constexpr auto measured_fully(std::array<Case, N> cases) {
  for (Case& c : cases) c.measured = {.rows = true, .columns = true};
  return cases;
}

/// The rows of a split, in the backend's memory and as the oracle knows them. What lies beyond the last offset is
/// poison: the choices there are of a token, and of a weight, that nobody else has.
struct RoutedRows {
  RoutedRows(Trial& trial, const Split& split, Index top_k);

  Groups groups;
  const std::int32_t* choice_of_row;                  // [rows]
  Index rows, used;                                   // room, and what the groups take of it
  Index tokens, top_k;                                // whose choices number at least `used`
  Index padded;                                       // columns of transposed codes
  std::vector<std::int32_t> offsets, padded_offsets;  // [experts + 1]
  std::vector<std::int32_t> choices;                  // [used]: those of the groups

  /// The amax of each column of each group of `values` [used, cols].
  [[nodiscard]] std::vector<bf16> column_maxima(std::span<const bf16> values, Index cols) const {
    return reference::group_column_maxima(values, offsets, cols);
  }
};

/// `values` [used, cols] with NaN in the rest of the room.
[[nodiscard]] std::vector<bf16> with_poison(std::vector<bf16> values, Index poison);
[[nodiscard]] std::vector<float> with_poison(std::vector<float> values, Index poison);

/// Every byte is as Trial::output() made it.
template <typename T>
void expect_untouched(Trial& trial, std::string_view name, std::span<const T> beyond) {
  for (const std::byte byte : std::as_bytes(beyond)) {
    if (byte != std::byte{0xFF}) return trial.fail(fmt::format("wrote to {} where no group is", name));
  }
}

/// The codes of the rows of groups are those of a plain cast of `values` [used, cols]; no others are written.
void expect_row_codes(Trial& trial, const RoutedRows& routed, const RowCodes& codes, std::span<const bf16> values,
                      Index cols);

/// Room for the maxima of the columns of each group; nothing where they are not `measured`.
[[nodiscard]] GroupMaxima group_maxima(Trial& trial, bool measured, const RoutedRows& routed, Index cols);
void expect_group_maxima(Trial& trial, const RoutedRows& routed, const GroupMaxima& maxima,
                         std::span<const bf16> values, Index cols);

/// Room for the transposed codes of routed rows whose columns have these maxima [experts, cols].
[[nodiscard]] GroupCodes group_codes(Trial& trial, const fp8::ScaleRule& rule, const RoutedRows& routed,
                                     const std::vector<bf16>& amax, Index cols);
/// The codes are those of a loop over groups of the plain cast of `values` [used, cols] under the same maxima, filled
/// up with zeros.
void expect_group_codes(Trial& trial, const RoutedRows& routed, const GroupCodes& codes, std::span<const bf16> values,
                        Index cols);
/// The same, of values that are known only as Trial::expect_bf16() has them.
void expect_group_codes_near(Trial& trial, const RoutedRows& routed, const GroupCodes& codes, View want, View beyond,
                             Index cols);

}  // namespace octet::ops::selftest
