#include "gpu/hip/mfma_grouped_products.h"

#include <fmt/format.h>

#include "gpu/hip/mfma_sides.h"
#include "gpu/hip/mfma_tiles.h"
#include "gpu/product_key.h"
#include "kernels/grouped_arguments.h"

namespace octet::gpu {
namespace {

/// Rows of `pitch` elements, as they lie.
kernels::ProductSide side_of(const GroupedOperand& side, std::int64_t outer, std::int64_t pitch) {
  return mfma_side({.data = side.data, .scale_inverse = side.scale_inverse, .outer = outer, .pitch = pitch},
                   side.dtype);
}

std::string kernel_name(const GroupedProduct& p, const MfmaTile& tile) {
  return fmt::format("grouped_{}_{}x{}_{}_{}", p.by_contraction ? "stretches" : "rows", tile.m, tile.n,
                     kernel_side(p.a.dtype, p.a.transposed), kernel_side(p.b.dtype, p.b.transposed));
}

class MfmaGroupedProducts final : public GroupedProducts {
 public:
  explicit MfmaGroupedProducts(Driver& driver) : driver_(driver) {}

  [[nodiscard]] std::size_t workspace_bytes(std::int64_t) const override { return 0; }
  [[nodiscard]] std::string description() const override { return "own MFMA kernels for products of groups"; }
  void run(const GroupedProduct& p, void* /*workspace*/) override {
    const std::int64_t rows_each = p.by_contraction ? p.m : (p.rows + p.groups - 1) / p.groups;
    const MfmaTile tile = choose_grouped_mfma_tile(driver_.facts().arch, p.groups, rows_each, p.n);
    const kernels::GroupedMfmaProduct arguments{
        .product = {.a =
                        p.by_contraction ? side_of(p.a, p.m, p.a.transposed ? p.m : p.rows) : side_of(p.a, p.rows, p.k),
                    .b = p.by_contraction ? side_of(p.b, p.n, p.b.transposed ? p.n : p.rows)
                                          : side_of(p.b, p.n, p.b.transposed ? p.n : p.k),
                    .d = p.d,
                    .k = p.by_contraction ? p.rows : p.k,
                    .f32 = p.d_dtype == DType::f32,
                    .accumulate = p.accumulate,
                    .aligned = mfma_aligned(p.d, p.n, p.d_dtype)},
        .offsets = p.offsets,
        .groups = static_cast<int>(p.groups)};
    // Of rows, each group may leave a number without a tile.
    const auto groups = static_cast<unsigned>(p.groups);
    const unsigned blocks_y =
        p.by_contraction ? groups * mfma_blocks(p.m, tile.m) : mfma_blocks(p.rows, tile.m) + groups;
    const LaunchShape shape{.blocks_x = mfma_blocks(p.n, tile.n), .blocks_y = blocks_y, .threads = 256};
    driver_.launch(driver_.kernel(kernel_name(p, tile)), shape, &arguments, sizeof arguments);
  }

 private:
  Driver& driver_;
};

}  // namespace

std::unique_ptr<GroupedProducts> open_mfma_grouped_products(Driver& driver) {
  return std::make_unique<MfmaGroupedProducts>(driver);
}

}  // namespace octet::gpu
