#include "gpu/hip/mfma_products.h"

#include <fmt/format.h>

#include "core/error.h"
#include "kernels/arguments.h"

namespace octet::gpu {
namespace {

bool is_e5m2(DType dtype) {
  return dtype == DType::e5m2 || dtype == DType::e5m2fnuz;
}

std::string side_name(const ProductOperand& side) {
  if (side.dtype == DType::bf16) return side.transposed ? "bf16t" : "bf16";
  return is_e5m2(side.dtype) ? "e5m2" : "e4m3";
}

bool in_sixteens(const void* data, std::int64_t row_bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && row_bytes % 16 == 0;
}

kernels::ProductSide side_of(const ProductOperand& side, std::int64_t outer, std::int64_t k) {
  const auto each = static_cast<std::int64_t>(size_of(side.dtype));
  return {.data = side.data,
          .scale_inverse = side.scale_inverse,
          .outer = outer,
          .one_scale = side.axis == fp8::ScaleAxis::tensor,
          .aligned = in_sixteens(side.data, (side.transposed ? outer : k) * each)};
}

unsigned blocks_for(std::int64_t results, std::int64_t tile) {
  return static_cast<unsigned>((results + tile - 1) / tile);
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
  return fmt::format("multiply_{}x{}_{}_{}", tile.m, tile.n, side_name(product.a), side_name(product.b));
}

void launch_mfma_product(Driver& driver, const Product& product, const MfmaTile& tile) {
  const auto row_bytes = product.n * static_cast<std::int64_t>(size_of(product.d_dtype));
  const kernels::Product arguments{.a = side_of(product.a, product.m, product.k),
                                   .b = side_of(product.b, product.n, product.k),
                                   .d = product.d,
                                   .k = product.k,
                                   .f32 = product.d_dtype == DType::f32,
                                   .accumulate = product.accumulate,
                                   .aligned = in_sixteens(product.d, row_bytes)};
  const LaunchShape shape{
      .blocks_x = blocks_for(product.n, tile.n), .blocks_y = blocks_for(product.m, tile.m), .threads = 256};
  driver.launch(driver.kernel(mfma_kernel(product, tile)), shape, &arguments, sizeof arguments);
}

std::unique_ptr<Products> open_mfma_products(Driver& driver) {
  return std::make_unique<MfmaProducts>(driver);
}

}  // namespace octet::gpu
