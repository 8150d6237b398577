#include "gpu/hip/mfma_products.h"

#include <fmt/format.h>

#include "gpu/hip/mfma_sides.h"
#include "gpu/product_key.h"

namespace octet::gpu {
namespace {

kernels::ProductSide side_of(const ProductOperand& side, std::int64_t outer, std::int64_t k) {
  return mfma_side({.data = side.data,
                    .scale_inverse = side.scale_inverse,
                    .outer = outer,
                    .pitch = side.transposed ? outer : k,
                    .one_scale = side.axis == fp8::ScaleAxis::tensor},
                   side.dtype);
}

class MfmaProducts final : public Products {
 public:
  explicit MfmaProducts(Driver& driver) : driver_(driver) {}

  [[nodiscard]] std::size_t workspace_bytes() const override { return 0; }
  void run(const Product& product, void* /*workspace*/) override {
    launch_mfma_product(driver_, product, choose_mfma_tile(driver_.facts().arch, product.m, product.n));
  }
  [[nodiscard]] std::string description() const override { return "own MFMA kernels for products"; }
  [[nodiscard]] std::vector<TunedProduct> tune() override { return {}; }
  [[nodiscard]] std::vector<std::string> untuned() const override { return {}; }

 private:
  Driver& driver_;
};

}  // namespace

std::string mfma_kernel(const Product& product, const MfmaTile& tile) {
  return fmt::format("multiply_{}x{}_{}_{}", tile.m, tile.n, kernel_side(product.a.dtype, product.a.transposed),
                     kernel_side(product.b.dtype, product.b.transposed));
}

void launch_mfma_product(Driver& driver, const Product& product, const MfmaTile& tile) {
  const kernels::Product arguments{.a = side_of(product.a, product.m, product.k),
                                   .b = side_of(product.b, product.n, product.k),
                                   .d = product.d,
                                   .k = product.k,
                                   .f32 = product.d_dtype == DType::f32,
                                   .accumulate = product.accumulate,
                                   .aligned = mfma_aligned(product.d, product.n, product.d_dtype)};
  const LaunchShape shape{
      .blocks_x = mfma_blocks(product.n, tile.n), .blocks_y = mfma_blocks(product.m, tile.m), .threads = 256};
  driver.launch(driver.kernel(mfma_kernel(product, tile)), shape, &arguments, sizeof arguments);
}

std::unique_ptr<Products> open_mfma_products(Driver& driver) {
  return std::make_unique<MfmaProducts>(driver);
}

}  // namespace octet::gpu
