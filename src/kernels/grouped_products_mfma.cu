// Matrix products of groups on AMD's matrix units: a group's product is a dense one, of a part of what the groups have
// in common, whose place the device alone knows. A vendor's file.
//
// Bytes that must move: each group's as products_mfma.cu has them.
#include "kernels/grouped_rows.h"
#include "kernels/mfma_tile.h"

namespace octet::kernels {
namespace {

/// A side from element `first` on; its scales from number `scales` on.
template <typename T>
OCTET_DEVICE ProductSide from(const ProductSide& side, Index first, Index scales) {
  ProductSide part = side;
  part.data = static_cast<const T*>(side.data) + first;
  if (side.scale_inverse != nullptr) part.scale_inverse = side.scale_inverse + scales;
  return part;
}

/// D from element `first` on.
OCTET_DEVICE void* results_from(const Product& product, Index first) {
  if (product.f32) return static_cast<float*>(product.d) + first;
  return static_cast<bf16*>(product.d) + first;
}

/// Tiles of rows, numbered so that no block adds up the tiles of the groups before its own: those of group e begin at
/// number offsets[e] / rows + e, which leaves at least as many to the next group as e has. Some numbers have no tile.
struct RowTile {
  int group;
  Index first;  // row of the group

  OCTET_DEVICE RowTile(const std::int32_t* offsets, int groups, int rows, int number) {
    int last = groups - 1;
    group = 0;
    while (group < last) {  // the last group that does not begin behind `number`
      const int middle = (group + last + 1) / 2;
      if (offsets[middle] / rows + middle <= number) {
        group = middle;
      } else {
        last = middle - 1;
      }
    }
    first = Index{number - offsets[group] / rows - group} * rows;
  }
};

/// Rows of A and D by group, each with a B of its own.
template <typename Tile, typename Factors, bool TransposedB>
OCTET_DEVICE void multiply_rows(const GroupedMfmaProduct& all) {
  using T = ElementBits<Factors>;
  const RowTile tile(all.offsets, all.groups, Tile::kM, block_index_y());
  const Index begin = all.offsets[tile.group];
  const Index rows = all.offsets[tile.group + 1] - begin;
  if (tile.first >= rows) return;
  Product product = all.product;
  const Index n = product.b.outer;
  product.a = from<T>(product.a, begin * product.a.pitch, begin);
  product.a.outer = rows;
  product.b = from<T>(product.b, tile.group * n * product.k, tile.group * n);
  product.d = results_from(product, begin * n);
  multiply_tile<Tile, Factors, false, TransposedB>(product, tile.first, Index{block_index()} * Tile::kN);
}

/// A stretch of the contraction and a D for each group. Blocks along y: row tiles of one group after another.
template <typename Tile, typename Factors, bool Transposed>
OCTET_DEVICE void multiply_stretches(const GroupedMfmaProduct& all) {
  using T = ElementBits<Factors>;
  Product product = all.product;
  const Index m = product.a.outer;
  const Index n = product.b.outer;
  const int tiles_each = static_cast<int>((m + Tile::kM - 1) / Tile::kM);
  const Index group = block_index_y() / tiles_each;
  const Index begin = all.offsets[group];
  product.k = all.offsets[group + 1] - begin;
  product.a = from<T>(product.a, Transposed ? begin * product.a.pitch : begin, group * m);
  product.b = from<T>(product.b, Transposed ? begin * product.b.pitch : begin, group * n);
  product.d = results_from(product, group * m * n);
  multiply_tile<Tile, Factors, Transposed, Transposed>(product, Index{block_index_y() % tiles_each} * Tile::kM,
                                                       Index{block_index()} * Tile::kN);
}

}  // namespace
}  // namespace octet::kernels

// grouped_rows_<m>x<n>_<A>_<B> and grouped_stretches_<m>x<n>_<A>_<B>, for a tile.
#define OCTET_GROUPED_KERNEL(m, n, body, name, Factors, transposed)                 \
  OCTET_SIMPLE_KERNEL(256, grouped_##body##_##m##x##n##_##name, GroupedMfmaProduct, \
                      multiply_##body<octet::kernels::ProductTile<m, n>, octet::kernels::Factors, transposed>)
#define OCTET_GROUPED_KERNELS(m, n)                                   \
  OCTET_GROUPED_KERNEL(m, n, rows, bf16_bf16, Bf16, false)            \
  OCTET_GROUPED_KERNEL(m, n, rows, bf16_bf16t, Bf16, true)            \
  OCTET_GROUPED_KERNEL(m, n, rows, e4m3_e4m3, E4m3ByE4m3, false)      \
  OCTET_GROUPED_KERNEL(m, n, rows, e5m2_e4m3, E5m2ByE4m3, false)      \
  OCTET_GROUPED_KERNEL(m, n, rows, e4m3_e5m2, E4m3ByE5m2, false)      \
  OCTET_GROUPED_KERNEL(m, n, stretches, bf16t_bf16t, Bf16, true)      \
  OCTET_GROUPED_KERNEL(m, n, stretches, e4m3_e4m3, E4m3ByE4m3, false) \
  OCTET_GROUPED_KERNEL(m, n, stretches, e5m2_e4m3, E5m2ByE4m3, false) \
  OCTET_GROUPED_KERNEL(m, n, stretches, e4m3_e5m2, E4m3ByE5m2, false)

OCTET_GROUPED_KERNELS(128, 128)
OCTET_GROUPED_KERNELS(64, 64)
