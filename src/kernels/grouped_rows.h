// Routed rows by group, as kernels share them: rows in order, a stretch of them a block, or tiles of one group each.
#pragma once

#include "kernels/cast_tiles.h"
#include "kernels/grouped_arguments.h"
#include "kernels/row.h"

namespace octet::kernels {

/// The group that position `at` lies in, from `group` on: the first that ends behind it.
OCTET_DEVICE int group_from(const std::int32_t* offsets, int group, Index at) {
  while (offsets[group + 1] <= at) ++group;
  return group;
}
OCTET_DEVICE int group_of(const std::int32_t* offsets, int count, Index at) {
  int first = 0;
  int last = count - 1;
  while (first < last) {
    const int middle = (first + last) / 2;
    if (offsets[middle + 1] <= at) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

/// How many rows, one after another, each of `blocks` blocks takes of all.
OCTET_DEVICE Index rows_each(const RowGroups& groups, int blocks) {
  return (Index{groups.offsets[groups.count]} + blocks - 1) / blocks;
}

/// Calls work(group, begin, end) for each group that has some of this block's rows. Column maxima of such a part go to
/// row block_index() + group of the partials: blocks and groups both rise along the rows, so that no two parts meet.
template <typename Work>
OCTET_DEVICE void for_each_part(const RowGroups& groups, Work work) {
  const Index each = rows_each(groups, block_count());
  const Index all = groups.offsets[groups.count];
  Index begin = block_index() * each;
  const Index end = begin + each < all ? begin + each : all;
  if (begin >= end) return;
  for (int group = group_of(groups.offsets, groups.count, begin); begin < end; ++group) {
    const Index group_end = groups.offsets[group + 1];
    const Index part_end = group_end < end ? group_end : end;
    if (begin < part_end) work(group, begin, part_end);
    begin = part_end;
  }
}

/// The part's column maxima, `first` columns into the partials; the next part's begin at zero.
template <int V>
OCTET_DEVICE void leave_part(const ColumnFold<V>& columns, bf16* partials, int group, Index cols, int first,
                             const RowPlace<V>& place) {
  if (partials == nullptr) return;
  columns.store(partials + group * cols, cols, first, place, true);
  sync_block();  // what the next part begins with is there
}

/// A tile of 128 rows of one group, of which the first `count` are there, and 64 columns.
struct GroupTile {
  TilePlace place;  // among transposed codes
  int group;
  Index first_row;  // of the routed rows
  Index count;

  /// The tile of that number; `near` is a group that does not lie behind it.
  OCTET_DEVICE GroupTile(const RowGroups& groups, int tiles_across, int tile, int near)
      : place(tiles_across, tile), group(near), first_row(0), count(0) {
    if (place.first_row >= groups.padded_offsets[groups.count]) return;
    group = group_from(groups.padded_offsets, near, place.first_row);
    first_row = groups.offsets[group] + (place.first_row - groups.padded_offsets[group]);
    count = groups.offsets[group + 1] - first_row;
  }

  /// Of this thread's four rows, as TilePart has them.
  [[nodiscard]] OCTET_DEVICE Index row(int r) const { return first_row + thread_index() / 8 * 4 + r; }
  [[nodiscard]] OCTET_DEVICE bool has(int r) const { return thread_index() / 8 * 4 + r < count; }
  [[nodiscard]] OCTET_DEVICE int col() const { return place.first_col + thread_index() % 8 * 8; }
  /// A byte of ones for each of the four that is there.
  [[nodiscard]] OCTET_DEVICE std::uint32_t kept() const {
    const Index mine = count - thread_index() / 8 * 4;
    return mine >= 4 ? 0xFFFF'FFFFU : mine <= 0 ? 0U : (1U << (8 * static_cast<int>(mine))) - 1U;
  }
};

/// Tiles that the groups have.
OCTET_DEVICE int tiles_of(const RowGroups& groups, int tiles_across) {
  return groups.padded_offsets[groups.count] / kTileRows * tiles_across;
}

/// The inverses of the scales of all columns of all groups, empty ones too, shared out among the grid's threads.
OCTET_DEVICE void leave_inverses(const GroupSide& side, const fp8::ScaleRule& rule, Index count) {
  if (side.codes == nullptr) return;
  const Index step = Index{block_count()} * thread_count();
  for (Index i = Index{block_index()} * thread_count() + thread_index(); i < count; i += step) {
    side.scale_inverse[i] = fp8::inverse(scale_of(rule, side.amax[i]));
  }
}

/// The amax of a tile's column `col`, read ahead of its use; one for columns beyond the matrix, which nobody uses.
OCTET_DEVICE bf16 column_amax(const GroupSide& side, const GroupTile& tile, int col, Index cols, Index first = 0) {
  constexpr bf16 kOne{0x3F80};
  const Index at = tile.place.first_col + col;
  return col < kTileCols && at < cols ? side.amax[tile.group * cols + first + at] : kOne;
}

/// Eight neighbours of a row of `cols`, those that there are, from column `col` on.
OCTET_DEVICE Vector load_eight_of(const bf16* row, int col, int cols, bool aligned) {
  if (!aligned) return load_some(row + col, cols - col);
  return col < cols ? load_16_bytes<Vector>(row + col) : Vector{};
}

}  // namespace octet::kernels
