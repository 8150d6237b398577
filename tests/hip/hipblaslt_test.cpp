// hipBLASLt as Octet calls it, on a stand-in that keeps what it was asked for: types, layouts, scales and workspace of
// each kind of product, which products it is given, and what is said where it cannot.
#include "gpu/hip/hipblaslt.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "cli/environment.h"
#include "core/error.h"
#include "gpu/hip/hip_products.h"
#include "hip/messages.h"
#include "hip/simulated_drivers.h"
#include "hip/standin_hipblaslt.h"

namespace octet::test {
namespace {

using gpu::HipblasltChoice;
using gpu::HipProductsChoice;
using gpu::Product;

// Numbers of ROCm's headers, which a test may not take from the declarations that it tests.
constexpr int kF32 = 0, kBf16 = 14, kE4m3 = 28, kE4m3Fnuz = 1000, kE5m2Fnuz = 1001;
constexpr int kPlain = 111, kTransposed = 112;
constexpr std::size_t kWorkspace = std::size_t{32} << 20;

class Hipblaslt : public testing::Test {
 protected:
  Hipblaslt() {
    environment_.set("OCTET_LIBRARY_PATH", OCTET_STANDIN_HIPBLASLT);
    standin_ = dlopen(OCTET_STANDIN_HIPBLASLT "/libhipblaslt.so.1", RTLD_NOW | RTLD_LOCAL);
    check(standin_ != nullptr, "the stand-in can be loaded");
    before_ = products();
  }
  ~Hipblaslt() override {
    const int alive = reinterpret_cast<Count>(dlsym(standin_, "standin_alive"))();
    EXPECT_EQ(alive, 0) << "handles or descriptors were not destroyed";
    dlclose(standin_);
  }

  void set(const char* name, const std::string& value) { environment_.set(name, value); }
  [[nodiscard]] static gpu::Driver& driver() { return simulated_gfx942(); }
  /// Products that the stand-in was given in this test.
  [[nodiscard]] int given() const { return products() - before_; }
  /// What it was asked for last, by a product that hipBLASLt is to compute.
  [[nodiscard]] const MatmulRecord& asked(const Product& product) {
    const auto products = gpu::open_hip_products(driver(), HipProductsChoice::hipblaslt);
    EXPECT_EQ(products->workspace_bytes(), kWorkspace);
    products->run(product, &workspace_);
    return *reinterpret_cast<LastMatmul>(dlsym(standin_, "standin_last_matmul"))();
  }
  std::byte workspace_{};

 private:
  [[nodiscard]] int products() const { return reinterpret_cast<Count>(dlsym(standin_, "standin_products"))(); }

  Environment environment_;
  void* standin_ = nullptr;
  int before_ = 0;
};

void expect_matrix(const MatrixRecord& matrix, int type, std::uint64_t rows, std::uint64_t cols, const void* data) {
  EXPECT_EQ(matrix.type, type);
  EXPECT_EQ(matrix.rows, rows);
  EXPECT_EQ(matrix.cols, cols);
  EXPECT_EQ(matrix.leading, static_cast<std::int64_t>(rows));
  EXPECT_EQ(matrix.data, data);
}

std::array<std::byte, 8> operand_bytes;  // stands for operands, which nobody looks into

Product bf16_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  Product p{.a = {.data = &operand_bytes[0]}, .b = {.data = &operand_bytes[1]}};
  p.d = &operand_bytes[2];
  p.m = m;
  p.n = n;
  p.k = k;
  return p;
}

Product fp8_product(DType a, DType b, fp8::ScaleAxis axis) {
  Product p = bf16_product(48, 32, 64);
  p.a.dtype = a;
  p.b.dtype = b;
  p.a.axis = p.b.axis = axis;
  p.a.scale_inverse = reinterpret_cast<const float*>(&operand_bytes[4]);
  p.b.scale_inverse = reinterpret_cast<const float*>(&operand_bytes[5]);
  return p;
}

/// Column-major matrices: our B comes first, and D^T is what it writes.
TEST_F(Hipblaslt, Bf16) {
  const MatmulRecord& asked_for = asked(bf16_product(48, 32, 64));
  expect_matrix(asked_for.a, kBf16, 64, 32, &operand_bytes[1]);
  expect_matrix(asked_for.b, kBf16, 64, 48, &operand_bytes[0]);
  expect_matrix(asked_for.c, kBf16, 32, 48, &operand_bytes[2]);
  expect_matrix(asked_for.d, kBf16, 32, 48, &operand_bytes[2]);
  EXPECT_EQ(asked_for.transpose_a, kTransposed);
  EXPECT_EQ(asked_for.transpose_b, kPlain);
  EXPECT_EQ(asked_for.compute_type, 2);
  EXPECT_EQ(asked_for.scale_type, kF32);
  EXPECT_EQ(asked_for.alpha, 1.0F);
  EXPECT_EQ(asked_for.beta, 0.0F);
  EXPECT_EQ(asked_for.a_scale, nullptr);
  EXPECT_EQ(asked_for.a_scale_mode, -1);
  EXPECT_EQ(asked_for.b_scale_mode, -1);
  EXPECT_EQ(asked_for.workspace, &workspace_);
  EXPECT_EQ(asked_for.workspace_given, kWorkspace);
  EXPECT_EQ(asked_for.workspace_preferred, kWorkspace);
  EXPECT_EQ(asked_for.stream, driver().native_stream());
  EXPECT_EQ(given(), 1);
}

/// As wgrad has it: both sides lie along what is not contracted, and the gradient is added to.
TEST_F(Hipblaslt, Bf16TransposedAndAddedTo) {
  Product p = bf16_product(48, 32, 64);
  p.a.transposed = p.b.transposed = true;
  p.d_dtype = DType::f32;
  p.accumulate = true;
  const MatmulRecord& asked_for = asked(p);
  expect_matrix(asked_for.a, kBf16, 32, 64, &operand_bytes[1]);
  expect_matrix(asked_for.b, kBf16, 48, 64, &operand_bytes[0]);
  expect_matrix(asked_for.c, kF32, 32, 48, &operand_bytes[2]);
  expect_matrix(asked_for.d, kF32, 32, 48, &operand_bytes[2]);
  EXPECT_EQ(asked_for.transpose_a, kPlain);
  EXPECT_EQ(asked_for.transpose_b, kTransposed);
  EXPECT_EQ(asked_for.beta, 1.0F);
}

/// One scale for an operand is what the library takes without a mode, also before 1.0.
TEST_F(Hipblaslt, Tensorwise) {
  set("OCTET_STANDIN_HIPBLASLT", "1200");
  const MatmulRecord& asked_for = asked(fp8_product(DType::e5m2fnuz, DType::e4m3fnuz, fp8::ScaleAxis::tensor));
  expect_matrix(asked_for.a, kE4m3Fnuz, 64, 32, &operand_bytes[1]);
  expect_matrix(asked_for.b, kE5m2Fnuz, 64, 48, &operand_bytes[0]);
  EXPECT_EQ(asked_for.a_scale, &operand_bytes[5]);
  EXPECT_EQ(asked_for.b_scale, &operand_bytes[4]);
  EXPECT_EQ(asked_for.a_scale_mode, -1);
  EXPECT_EQ(asked_for.b_scale_mode, -1);
}

TEST_F(Hipblaslt, Rowwise) {
  const MatmulRecord& asked_for = asked(fp8_product(DType::e4m3fn, DType::e4m3fn, fp8::ScaleAxis::row));
  EXPECT_EQ(asked_for.a.type, kE4m3);
  EXPECT_EQ(asked_for.b.type, kE4m3);
  EXPECT_EQ(asked_for.a_scale, &operand_bytes[5]);
  EXPECT_EQ(asked_for.b_scale, &operand_bytes[4]);
  EXPECT_EQ(asked_for.a_scale_mode, 3);
  EXPECT_EQ(asked_for.b_scale_mode, 3);
}

/// A plan is made once for a shape; scales and operands are those of the call.
TEST_F(Hipblaslt, AShapeThatComesAgain) {
  const auto products = gpu::open_hip_products(driver(), HipProductsChoice::hipblaslt);
  Product p = fp8_product(DType::e4m3fnuz, DType::e4m3fnuz, fp8::ScaleAxis::row);
  products->run(p, &workspace_);
  set("OCTET_STANDIN_PROPOSALS", "0");  // who asks again gets nothing
  p.a.scale_inverse = reinterpret_cast<const float*>(&operand_bytes[6]);
  p.b.data = &operand_bytes[7];
  products->run(p, &workspace_);
  EXPECT_EQ(given(), 2);
  p.m = 64;
  EXPECT_THROW(products->run(p, &workspace_), Failure);
}

TEST_F(Hipblaslt, WhatItCannot) {
  const Product rowwise = fp8_product(DType::e4m3fnuz, DType::e5m2fnuz, fp8::ScaleAxis::row);
  set("OCTET_STANDIN_HIPBLASLT", "1200");
  const std::string old = message<UserError>([&] { (void)asked(rowwise); });
  EXPECT_TRUE(holds(old, "hipBLASLt 0.12.0, ")) << old;
  EXPECT_TRUE(holds(old, "cannot scale FP8 by rows, which takes 1.0.0 or newer (ROCm 7): OCTET_PRODUCTS=own")) << old;
  set("OCTET_STANDIN_HIPBLASLT", "100000");
  set("OCTET_STANDIN_PROPOSALS", "0");
  const std::string none = message<Failure>([&] { (void)asked(rowwise); });
  EXPECT_TRUE(holds(none, "has no way to compute [48, 32] over 64, e4m3fnuz x e5m2fnuz -> bf16")) << none;
  set("OCTET_STANDIN_PROPOSALS", "1");
  set("OCTET_STANDIN_FAIL_PRODUCT", "1");
  const std::string failed = message<DeviceFault>([&] { (void)asked(rowwise); });
  EXPECT_TRUE(holds(failed, "hipBLASLt failed at a product: execution failed")) << failed;
  set("OCTET_STANDIN_FAIL_CREATE", "1");
  EXPECT_TRUE(holds(gpu::survey_hipblaslt().problem, "hipBLASLt failed at starting: internal error"));
}

TEST_F(Hipblaslt, IsMissing) {
  set("OCTET_LIBRARY_PATH", "/nowhere");
  if (gpu::survey_hipblaslt().problem.empty()) GTEST_SKIP() << "this machine has a hipBLASLt";
  const std::string missing = message<UserError>([&] { (void)asked(bf16_product(16, 16, 16)); });
  EXPECT_TRUE(holds(missing, "there is no libhipblaslt.so.1: install ROCm's package hipblaslt")) << missing;
  const std::array rows{HipblasltChoice{"gfx942", 100000, 48, 32, 64, 'b', '0', 'b', 0}};
  const auto products = gpu::open_hip_products(driver(), HipProductsChoice::automatic, rows);
  EXPECT_TRUE(holds(products->description(), "own MFMA kernels for products (there is no libhipblaslt"));
}

/// Own kernels but for what the table has measured, in that version and on that processor.
TEST_F(Hipblaslt, TheTableChooses) {
  set("OCTET_STANDIN_PROPOSALS", "4");
  const std::array rows{HipblasltChoice{"gfx942", 100000, 48, 32, 64, 'b', '0', 'b', 2},
                        HipblasltChoice{"gfx950", 100000, 64, 32, 64, 'b', '0', 'b', 1},
                        HipblasltChoice{"gfx942", 100100, 80, 32, 64, 'b', '0', 'b', 1}};
  const auto products = gpu::open_hip_products(driver(), HipProductsChoice::automatic, rows);
  EXPECT_TRUE(holds(products->description(), "own MFMA kernels for products, hipBLASLt 1.0.0, "));
  EXPECT_TRUE(holds(products->description(), "not run on hardware where it is faster"));
  const auto room = driver().allocate(std::size_t{3} * 96 * 64 * sizeof(float));
  const auto run = [&](std::int64_t m) {
    Product p = bf16_product(m, 32, 64);
    p.a.data = room.get();
    p.b.data = room.get() + std::size_t{96} * 64 * sizeof(float);
    p.d = room.get() + std::size_t{2} * 96 * 64 * sizeof(float);
    products->run(p, &workspace_);
    driver().finish();
    return given();
  };
  driver().zero(room.get(), std::size_t{3} * 96 * 64 * sizeof(float));
  EXPECT_EQ(run(96), 0);  // no row
  EXPECT_EQ(run(64), 0);  // another processor's
  EXPECT_EQ(run(80), 0);  // another version's
  EXPECT_EQ(run(48), 1);
  EXPECT_EQ(run(48), 2);
  EXPECT_TRUE(products->untuned().empty());
}

/// Of all that hipBLASLt is told to compute, what has several ways and no measured choice.
TEST_F(Hipblaslt, UntunedProductsAreNamed) {
  set("OCTET_STANDIN_PROPOSALS", "3");
  const std::array rows{HipblasltChoice{"gfx942", 100000, 48, 32, 64, 'b', '0', 'b', 2}};
  const auto products = gpu::open_hip_products(driver(), HipProductsChoice::hipblaslt, rows);
  products->run(bf16_product(48, 32, 64), &workspace_);
  products->run(bf16_product(16, 32, 64), &workspace_);
  EXPECT_EQ(products->untuned(), std::vector<std::string>{"[16, 32] over 64, bf16 x bf16 -> bf16"});
  EXPECT_EQ(given(), 2);
}

/// A tuning times our own kernel beside the library's ways and prints lines as the table holds them. The stand-in does
/// nothing, faster than a simulated kernel does anything.
TEST_F(Hipblaslt, ATuningFillsTheTable) {
  set("OCTET_STANDIN_PROPOSALS", "2");
  const auto products = gpu::open_hip_products(driver(), HipProductsChoice::hipblaslt);
  const auto room = driver().allocate(std::size_t{3} * 64 * 64 * sizeof(float));
  driver().zero(room.get(), std::size_t{3} * 64 * 64 * sizeof(float));
  Product p = bf16_product(48, 32, 64);
  p.a.data = p.b.data = p.d = room.get();
  p.b.transposed = true;
  p.d_dtype = DType::f32;
  products->run(p, &workspace_);
  EXPECT_EQ(products->untuned().size(), 1U);
  const std::vector<gpu::TunedProduct> tuned = products->tune();
  ASSERT_EQ(tuned.size(), 1U);
  EXPECT_EQ(tuned[0].product, "[48, 32] over 64, bf16 x bf16 -> f32, B transposed");
  EXPECT_TRUE(holds(tuned[0].choice, "    {\"gfx942\", 100000, 48, 32, 64, 'b', 'b', 'f', ")) << tuned[0].choice;
  EXPECT_GT(tuned[0].first_seconds, tuned[0].seconds);
  EXPECT_TRUE(products->untuned().empty());
}

/// Nothing is loaded that nothing wants.
TEST_F(Hipblaslt, IsLeftAloneByOwnKernels) {
  set("OCTET_STANDIN_FAIL_CREATE", "1");
  for (const HipProductsChoice choice : {HipProductsChoice::automatic, HipProductsChoice::own}) {
    const auto products = gpu::open_hip_products(driver(), choice);
    EXPECT_EQ(products->description(), "own MFMA kernels for products");
    EXPECT_EQ(products->workspace_bytes(), 0U);
    EXPECT_TRUE(products->tune().empty());
  }
}

}  // namespace
}  // namespace octet::test
