#include "gpu/cuda/wgmma_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "core/error.h"
#include "gpu/cuda/cuda_api.h"
#include "gpu/product_key.h"
#include "kernels/grouped_arguments.h"

namespace octet::gpu {
namespace {

// As kernels/grouped_products_wgmma.cu has them.
constexpr unsigned kBoxBytes = 128;
constexpr unsigned kBoxRows = 64;
constexpr unsigned kResultRows = 16;  // of a box of D
constexpr unsigned kThreads = 384;
constexpr unsigned kSharedBytes = 232448;  // all that a block can have

std::string kernel_name(const GroupedProduct& product) {
  std::string sides = fmt::format("grouped_{}_{}", kernel_side(product.a.dtype, product.a.transposed),
                                  kernel_side(product.b.dtype, product.b.transposed));
  if (product.a.dtype == DType::bf16) return sides;  // whose sums are whole floats in any case
  return sides + (product.accumulation == fp8::Accumulation::fast ? "_fast" : "_full");
}

/// Matrices one after another, as they lie in memory.
struct Extents {
  std::int64_t matrices, rows, cols;
};

class WgmmaProducts final : public GroupedProducts {
 public:
  explicit WgmmaProducts(Driver& driver) : driver_(driver), api_(load_cuda()) {}

  [[nodiscard]] std::size_t workspace_bytes(std::int64_t) const override { return 0; }
  [[nodiscard]] std::string description() const override { return "own wgmma kernels for products of groups"; }
  void run(const GroupedProduct& product, void* /*workspace*/) override {
    const kernels::GroupedProduct arguments{
        .a = map_of(product.a.data, product.a.dtype, extents_of_a(product), kBoxRows),
        .b = map_of(product.b.data, product.b.dtype, extents_of_b(product), kBoxRows),
        .d_boxes = map_of_result(product),
        .a_scales = product.a.scale_inverse,
        .b_scales = product.b.scale_inverse,
        .d = product.d,
        .offsets = product.offsets,
        .groups = static_cast<int>(product.groups),
        .m = static_cast<int>(product.m),
        .n = static_cast<int>(product.n),
        .k = static_cast<int>(product.k),
        .by_contraction = product.by_contraction,
        .paired_rows = product.by_contraction,
        .f32 = product.d_dtype == DType::f32,
        .accumulate = product.accumulate,
    };
    const auto blocks = static_cast<unsigned>(driver_.facts().multiprocessors / 2 * 2);  // in clusters of two
    const LaunchShape shape{.blocks_x = blocks, .threads = kThreads, .shared_bytes = kSharedBytes};
    driver_.launch(driver_.kernel(kernel_name(product)), shape, &arguments, sizeof arguments);
  }

 private:
  static Extents extents_of_a(const GroupedProduct& product) {
    if (!product.by_contraction) return {1, product.rows, product.k};
    return product.a.transposed ? Extents{1, product.rows, product.m} : Extents{1, product.m, product.rows};
  }
  static Extents extents_of_b(const GroupedProduct& product) {
    if (!product.by_contraction) {
      return product.b.transposed ? Extents{product.groups, product.k, product.n}
                                  : Extents{product.groups, product.n, product.k};
    }
    return product.b.transposed ? Extents{1, product.rows, product.n} : Extents{1, product.n, product.rows};
  }

  [[nodiscard]] kernels::TensorMap map_of_result(const GroupedProduct& product) const {
    if (product.d_dtype != DType::bf16) return {};
    const std::int64_t rows = product.by_contraction ? product.groups * product.m : product.rows;
    return map_of(product.d, product.d_dtype, {1, rows, product.n}, kResultRows);
  }

  /// What the copy engine is told of a tensor. What boxes have beyond it is zero, and is not stored.
  [[nodiscard]] kernels::TensorMap map_of(const void* data, DType dtype, const Extents& extents,
                                          unsigned box_rows) const {
    const auto each = static_cast<cuuint64_t>(size_of(dtype));
    const auto rows = static_cast<cuuint64_t>(std::max<std::int64_t>(1, extents.rows));  // none is read of no rows
    const auto cols = static_cast<cuuint64_t>(extents.cols == 0 ? kBoxBytes : extents.cols);
    const std::array<cuuint64_t, 3> sizes{cols, rows, static_cast<cuuint64_t>(extents.matrices)};
    const std::array<cuuint64_t, 2> pitches{cols * each, rows * cols * each};
    const std::array<cuuint32_t, 3> box{static_cast<cuuint32_t>(kBoxBytes / each), box_rows, 1};
    constexpr std::array<cuuint32_t, 3> kEveryElement{1, 1, 1};
    const auto type = dtype == DType::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_UINT8;
    CUtensorMap map;
    api_->check_result(
        api_->tensor_map_encode_tiled(&map, type, 3, const_cast<void*>(data), sizes.data(), pitches.data(), box.data(),
                                      kEveryElement.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "describing a product's side of {} x {} x {} {}", extents.matrices, extents.rows, extents.cols, name(dtype));
    return std::bit_cast<kernels::TensorMap>(map);
  }

  Driver& driver_;
  std::shared_ptr<const CudaApi> api_;
};

}  // namespace

std::unique_ptr<GroupedProducts> open_wgmma_products(Driver& driver) {
  return std::make_unique<WgmmaProducts>(driver);
}

}  // namespace octet::gpu
