// Which tile of D a block of the MFMA products makes, as data: a table for each architecture.
//
// The rule behind the rows, as nothing of this was timed on hardware: a large tile reads fewer bytes a flop (of FP8
// codes 1/m + 1/n for each two flops), but that gains only as long as every compute unit has a block. A row therefore
// asks for as many squares of 64 x 64 results as give each unit one of its tiles, 304 of an MI300X or MI325X and 256 of
// an MI350X or MI355X, and for sides that are longer than half of the tile's. The first row that fits is taken; a shape
// that fits none takes kDefaultMfmaTile, and so does an architecture that has no rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace octet::gpu {

/// Results of D: `m` rows and `n` columns.
struct MfmaTile {
  std::int64_t m, n;

  bool operator==(const MfmaTile&) const = default;
};

/// Every tile that kernels/products_mfma.cu has kernels for.
inline constexpr std::array<MfmaTile, 4> kMfmaTiles{{{256, 128}, {128, 128}, {128, 64}, {64, 64}}};

/// Where no row fits: the tile that leaves the fewest compute units without work.
inline constexpr MfmaTile kDefaultMfmaTile{64, 64};

/// A class of shapes [m, n] of D, and its tile.
struct MfmaTileChoice {
  std::string_view arch;
  std::int64_t m_above, n_above;  ///< D has more rows and columns than these
  std::int64_t squares_at_least;  ///< of 64 x 64 results that D has, begun ones included
  MfmaTile tile;
};

inline constexpr std::array<MfmaTileChoice, 6> kMfmaTileChoices{{
    {"gfx942", 128, 64, 8 * 304, {256, 128}},
    {"gfx942", 64, 64, 4 * 304, {128, 128}},
    {"gfx942", 64, 0, 2 * 304, {128, 64}},
    {"gfx950", 128, 64, 8 * 256, {256, 128}},
    {"gfx950", 64, 64, 4 * 256, {128, 128}},
    {"gfx950", 64, 0, 2 * 256, {128, 64}},
}};

/// Those that kernels/grouped_products_mfma.cu has kernels for: groups are many, so that units have work without
/// tiles between, and seldom long enough for a larger one.
inline constexpr std::array<MfmaTile, 2> kGroupedMfmaTiles{{{128, 128}, {64, 64}}};

/// The tile of a product whose D is [m, n].
[[nodiscard]] constexpr MfmaTile choose_mfma_tile(std::string_view arch, std::int64_t m, std::int64_t n) {
  const std::int64_t squares = ((m + 63) / 64) * ((n + 63) / 64);
  const auto fits = [&](const MfmaTileChoice& row) {
    return row.arch == arch && m > row.m_above && n > row.n_above && squares >= row.squares_at_least;
  };
  const auto row = std::ranges::find_if(kMfmaTileChoices, fits);
  return row == kMfmaTileChoices.end() ? kDefaultMfmaTile : row->tile;
}

/// The tile of a product of `groups` groups whose D is [m, n] each, or has m rows in the mean: the larger one where the
/// table asks for at least that of as many squares.
[[nodiscard]] constexpr MfmaTile choose_grouped_mfma_tile(std::string_view arch, std::int64_t groups, std::int64_t m,
                                                          std::int64_t n) {
  const std::int64_t squares = groups * ((m + 63) / 64) * ((n + 63) / 64);
  const auto fits = [&](const MfmaTileChoice& row) {
    return row.arch == arch && row.tile == kGroupedMfmaTiles[0] && m > row.m_above && n > row.n_above &&
           squares >= row.squares_at_least;
  };
  return std::ranges::any_of(kMfmaTileChoices, fits) ? kGroupedMfmaTiles[0] : kGroupedMfmaTiles[1];
}

}  // namespace octet::gpu
