// Matrix products on AMD's matrix units, a tile of D for each block. Which tile a product takes is data:
// gpu/hip/mfma_tiles.h. A vendor's file.
//
// Bytes that must move: A once for each tile along n, B once for each along m, D once.
#include "kernels/mfma_tile.h"

namespace octet::kernels {
namespace {

template <typename Tile, typename Factors, bool TransposedA, bool TransposedB>
OCTET_DEVICE void multiply(const Product& product) {
  multiply_tile<Tile, Factors, TransposedA, TransposedB>(product, Index{block_index_y()} * Tile::kM,
                                                         Index{block_index()} * Tile::kN);
}

}  // namespace
}  // namespace octet::kernels

// multiply_<m>x<n>_<A>_<B>: the operands that the op table has, for a tile.
#define OCTET_PRODUCT_KERNEL(m, n, name, Factors, transposed_a, transposed_b) \
  OCTET_SIMPLE_KERNEL(                                                        \
      256, multiply_##m##x##n##_##name, Product,                              \
      multiply<octet::kernels::ProductTile<m, n>, octet::kernels::Factors, transposed_a, transposed_b>)
#define OCTET_PRODUCT_KERNELS(m, n)                               \
  OCTET_PRODUCT_KERNEL(m, n, bf16_bf16, Bf16, false, false)       \
  OCTET_PRODUCT_KERNEL(m, n, bf16t_bf16, Bf16, true, false)       \
  OCTET_PRODUCT_KERNEL(m, n, bf16_bf16t, Bf16, false, true)       \
  OCTET_PRODUCT_KERNEL(m, n, bf16t_bf16t, Bf16, true, true)       \
  OCTET_PRODUCT_KERNEL(m, n, e4m3_e4m3, E4m3ByE4m3, false, false) \
  OCTET_PRODUCT_KERNEL(m, n, e4m3_e5m2, E4m3ByE5m2, false, false) \
  OCTET_PRODUCT_KERNEL(m, n, e5m2_e4m3, E5m2ByE4m3, false, false)

OCTET_PRODUCT_KERNELS(256, 128)
OCTET_PRODUCT_KERNELS(128, 128)
OCTET_PRODUCT_KERNELS(128, 64)
OCTET_PRODUCT_KERNELS(64, 64)
