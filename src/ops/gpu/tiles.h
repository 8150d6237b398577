// Launches of casts that transpose, tile by tile: see kernels/cast_tiles.h.
#pragma once

#include <algorithm>

#include "kernels/arguments.h"
#include "ops/gpu/gpu_device.h"
#include "ops/ops.h"

namespace octet::ops::gpu {

inline constexpr unsigned kTileRows = 128;  // as in kernels/cast_tiles.h
inline constexpr unsigned kTileCols = 64;

struct TileLaunch {
  LaunchShape shape;
  int tiles_across, tiles;  ///< at least one, which makes the scales of slices that hold nothing
};

/// Over a matrix [rows, cols]; `shared_bytes` beside the arrays of fixed size.
[[nodiscard]] inline TileLaunch tile_launch(Index rows, Index cols, unsigned shared_bytes = 0) {
  constexpr Index kTilesPerBlock = 2;
  const Index across = std::max(1U, blocks_for(cols, kTileCols));
  const Index tiles = across * std::max(1U, blocks_for(rows, kTileRows));
  check(tiles + tiles / kTilesPerBlock < INT32_MAX, "a block's next tile is counted in 32 bits");
  return {{.blocks_x = blocks_for(tiles, kTilesPerBlock), .threads = 256, .shared_bytes = shared_bytes},
          static_cast<int>(across),
          static_cast<int>(tiles)};
}

[[nodiscard]] inline kernels::CastSide cast_side(const ColumnCodes& codes) {
  return {codes.codes, codes.amax, nullptr, codes.scale_inverse};
}

}  // namespace octet::ops::gpu
