// Products on a GPU whose rows do not come in sixteens, on a driver whose memory is the host's and a library that keeps
// what it is given.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"
#include "ops/gpu/refusals.h"

namespace octet::test {
namespace {

using octet::gpu::Product;
using ops::gpu::GpuDevice;

/// Copies; does nothing else.
class HostDriver final : public gpu::Driver {
 public:
  [[nodiscard]] const gpu::DeviceFacts& facts() const override { return facts_; }
  [[nodiscard]] gpu::DeviceMemory memory() const override { return {}; }
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t) override { return nullptr; }
  [[nodiscard]] std::shared_ptr<std::byte> allocate_shared(std::size_t) override { return nullptr; }
  void upload(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void zero(void* to, std::size_t bytes) override { std::memset(to, 0, bytes); }
  [[nodiscard]] gpu::Kernel kernel(const std::string&) override { return {}; }
  void launch(gpu::Kernel, const gpu::LaunchShape&, const void*, std::size_t) override {}
  void finish() override {}
  [[nodiscard]] gpu::TimeMark mark() override { return {}; }
  [[nodiscard]] double seconds(gpu::TimeMark, gpu::TimeMark) override { return 0; }
  void forget_marks() override {}
  void begin_capture() override {}
  [[nodiscard]] std::unique_ptr<Graph> end_capture() override { return nullptr; }
  void abandon_capture() noexcept override {}
  void replay(const Graph&) override {}
  [[nodiscard]] void* native_stream() const override { return nullptr; }

 private:
  gpu::DeviceFacts facts_;
};

/// Row i of D becomes the first code of row i of A, as many times as D has columns, plus that row's scale.
class FirstCodes final : public gpu::Products {
 public:
  [[nodiscard]] std::size_t workspace_bytes() const override { return 256; }
  void run(const Product& p, void*) override {
    rows = p.m;
    const auto* codes = static_cast<const std::uint8_t*>(p.a.data);
    auto* d = static_cast<float*>(p.d);
    for (std::int64_t i = 0; i < p.m; ++i) {
      std::fill_n(d + i * p.n, p.n, static_cast<float>(codes[i * p.k]) + p.a.scale_inverse[i]);
    }
  }
  [[nodiscard]] std::string description() const override { return "first codes"; }
  [[nodiscard]] std::vector<gpu::TunedProduct> tune() override { return {}; }
  [[nodiscard]] std::vector<std::string> untuned() const override { return {}; }

  std::int64_t rows = 0;  ///< of the last product
};

TEST(GpuProducts, RowsAreFilledUpToSixteens) {
  constexpr std::int64_t kN = 16, kK = 32;
  auto products = std::make_unique<FirstCodes>();
  const FirstCodes& seen = *products;
  GpuDevice device(std::make_unique<HostDriver>(), std::move(products), nullptr, fp8::FormatFamily::ocp, {}, nullptr);
  for (const std::int64_t m : {1, 15, 16, 17, 48}) {
    std::vector<std::uint8_t> a(static_cast<std::size_t>(m * kK)), b(kN * kK);
    std::vector<float> a_scales(static_cast<std::size_t>(m)), b_scales(kN);
    for (std::int64_t i = 0; i < m; ++i) {
      a[static_cast<std::size_t>(i * kK)] = static_cast<std::uint8_t>(i + 1);
      a_scales[static_cast<std::size_t>(i)] = static_cast<float>(i) / 64;
    }
    std::vector<float> d(static_cast<std::size_t>((m + 1) * kN), -1);
    const ops::Gemm op{.a = {a.data(), a_scales.data(), DType::e4m3fn, ops::ScaleAxis::row, false},
                       .b = {b.data(), b_scales.data(), DType::e4m3fn, ops::ScaleAxis::row, false},
                       .d = d.data(),
                       .m = m,
                       .n = kN,
                       .k = kK,
                       .d_dtype = DType::f32,
                       .accumulate = false,
                       .accumulation = ops::Accumulation::full};
    ASSERT_EQ(ops::gpu::refuse_gemm<fp8::FormatFamily::ocp>(op), nullptr);
    std::vector<std::byte> workspace(ops::gpu::gemm_workspace(device, op));
    ops::gpu::gemm(device, op, workspace);
    EXPECT_EQ(seen.rows, (m + 15) / 16 * 16);
    for (std::int64_t i = 0; i <= m; ++i) {
      const float wanted = i < m ? static_cast<float>(i + 1) + static_cast<float>(i) / 64 : -1;
      for (std::int64_t j = 0; j < kN; ++j) EXPECT_EQ(d[static_cast<std::size_t>(i * kN + j)], wanted) << m << " " << i;
    }
  }
}

TEST(GpuProducts, WhatIsAddedToIsNotFilledUp) {
  ops::Gemm op{};
  op.a.dtype = op.b.dtype = DType::e4m3fn;
  op.a.axis = op.b.axis = ops::ScaleAxis::row;
  op.m = 1;
  op.n = op.k = 16;
  EXPECT_EQ(ops::gpu::refuse_gemm<fp8::FormatFamily::ocp>(op), nullptr);
  op.accumulate = true;
  EXPECT_NE(ops::gpu::refuse_gemm<fp8::FormatFamily::ocp>(op), nullptr);
  op.accumulate = false;
  op.k = 24;  // the tokens of a weight's gradient
  EXPECT_NE(ops::gpu::refuse_gemm<fp8::FormatFamily::ocp>(op), nullptr);
}

}  // namespace
}  // namespace octet::test
