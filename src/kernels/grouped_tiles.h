// Which tiles the results of grouped products have, and in which order the blocks of grouped_products_wgmma.cu make
// them: group by group, and within one in bands of rows of tiles, so that what tiles read in common stays in L2.
#pragma once

#include "kernels/grouped_arguments.h"
#include "kernels/hopper.h"

namespace octet::kernels {

constexpr int kTileRows = 128;
constexpr int kTileCols = 256;
constexpr int kBand = 16;  // rows of tiles whose columns are gone through together

OCTET_DEVICE int quotient_up(int x, int y) {
  return (x + y - 1) / y;
}

/// Rows of cluster tiles of a group, and columns of them.
OCTET_DEVICE int row_tiles(const GroupedProduct& a, int rows) {
  return quotient_up(rows, a.paired_rows ? kClusterBlocks * kTileRows : kTileRows);
}
OCTET_DEVICE int col_tiles(const GroupedProduct& a) {
  return quotient_up(a.n, a.paired_rows ? kTileCols : kClusterBlocks * kTileCols);
}

/// A group's rows, or its stretch of the contraction.
struct Extent {
  int begin, size;

  OCTET_DEVICE Extent(const GroupedProduct& a, int group)
      : begin(a.offsets[group]), size(a.offsets[group + 1] - begin) {}
};

OCTET_DEVICE int rows_of(const GroupedProduct& a, const Extent& extent) {
  return a.by_contraction ? a.m : extent.size;
}

/// A tile of this block.
struct TilePlace {
  int group;          // none when all tiles are made
  int row, col;       // in the group's D
  int rows;           // of D from there on, at most a tile's; none for one block where a pair is cut off
  int first_row;      // the tile's in D and among the scales of A
  int begin, length;  // of the contraction
};
constexpr int kNoGroup = -1;

/// The tile of that number among a group's.
OCTET_DEVICE TilePlace place_of(const GroupedProduct& a, int group, const Extent& extent, int tile) {
  const int all_rows = rows_of(a, extent);
  const int in_bands = kBand * col_tiles(a);
  const int band = tile / in_bands;
  const int band_rows = min(kBand, row_tiles(a, all_rows) - band * kBand);
  const int row_tile = band * kBand + tile % in_bands % band_rows;
  const int col_tile = tile % in_bands / band_rows;
  TilePlace place;
  place.group = group;
  place.row = (a.paired_rows ? row_tile * kClusterBlocks + cluster_rank() : row_tile) * kTileRows;
  place.col = (a.paired_rows ? col_tile : col_tile * kClusterBlocks + cluster_rank()) * kTileCols;
  place.rows = min(kTileRows, all_rows - place.row);
  place.first_row = (a.by_contraction ? group * a.m : extent.begin) + place.row;
  place.begin = a.by_contraction ? extent.begin : 0;
  place.length = a.by_contraction ? extent.size : a.k;
  return place;
}

}  // namespace octet::kernels
