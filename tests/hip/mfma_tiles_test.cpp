// The table of the MFMA products: what it chooses, that each row names kernels that are there, and that every tile
// gives the product, with operands for which any order of the sums is exact.
#include "gpu/hip/mfma_tiles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "gpu/hip/code_objects.h"
#include "gpu/hip/mfma_products.h"
#include "hip/simulated_drivers.h"

namespace octet::test {
namespace {

using gpu::choose_mfma_tile;
using gpu::kMfmaTiles;
using gpu::MfmaTile;

struct Processor {
  const char* arch;
  std::int64_t compute_units;
  gpu::Driver& (*driver)();
  DType e4m3, e5m2;
};

const Processor kGfx942{"gfx942", 304, simulated_gfx942, DType::e4m3fnuz, DType::e5m2fnuz};
const Processor kGfx950{"gfx950", 256, simulated_gfx950, DType::e4m3fn, DType::e5m2};

struct Operands {
  gpu::ProductOperand a, b;
};

/// Every pair that the op table has.
std::vector<Operands> operands_of(const Processor& processor) {
  const gpu::ProductOperand plain{};
  const gpu::ProductOperand transposed{.transposed = true};
  const gpu::ProductOperand e4m3{.dtype = processor.e4m3, .axis = fp8::ScaleAxis::row};
  const gpu::ProductOperand e5m2{.dtype = processor.e5m2, .axis = fp8::ScaleAxis::row};
  return {{plain, plain}, {transposed, plain}, {plain, transposed}, {transposed, transposed},
          {e4m3, e4m3},   {e4m3, e5m2},        {e5m2, e4m3}};
}

std::uint16_t encode(DType dtype, float x) {
  switch (dtype) {
    case DType::e4m3fn:
      return fp8::encode<fp8::Format::e4m3fn>(x).bits;
    case DType::e4m3fnuz:
      return fp8::encode<fp8::Format::e4m3fnuz>(x).bits;
    case DType::e5m2:
      return fp8::encode<fp8::Format::e5m2>(x).bits;
    case DType::e5m2fnuz:
      return fp8::encode<fp8::Format::e5m2fnuz>(x).bits;
    default:
      return to_bf16(x).bits;
  }
}

/// Whole numbers from -3 to 3 in no order that a stride could hide in; all formats have them.
float number(std::int64_t row, std::int64_t i) {
  return static_cast<float>((row * 5 + i * 11 + row * i % 13) % 7 - 3);
}
float scale(std::int64_t row) {
  return row % 3 == 0 ? 0.5F : 2.0F;
}

/// A side in the device's memory: number(row + salt, i) for [outer, k].
class Side {
 public:
  Side(gpu::Driver& driver, gpu::ProductOperand& operand, std::int64_t outer, std::int64_t k, std::int64_t salt) {
    const std::size_t each = size_of(operand.dtype);
    std::vector<std::byte> bytes(static_cast<std::size_t>(outer * k) * each);
    for (std::int64_t row = 0; row < outer; ++row) {
      for (std::int64_t i = 0; i < k; ++i) {
        const std::uint16_t code = encode(operand.dtype, number(row + salt, i));
        const std::int64_t at = operand.transposed ? i * outer + row : row * k + i;
        std::memcpy(bytes.data() + static_cast<std::size_t>(at) * each, &code, each);
      }
    }
    data_ = upload<std::byte>(driver, bytes);
    operand.data = data_.get();
    if (operand.dtype == DType::bf16) return;
    std::vector<float> scales(static_cast<std::size_t>(outer));
    for (std::int64_t row = 0; row < outer; ++row) scales[static_cast<std::size_t>(row)] = scale(row + salt);
    scales_ = upload<float>(driver, scales);
    operand.scale_inverse = reinterpret_cast<const float*>(scales_.get());
  }

 private:
  template <typename T>
  static std::shared_ptr<std::byte> upload(gpu::Driver& driver, std::span<const T> values) {
    auto uploaded = driver.allocate(values.size_bytes());
    driver.upload(uploaded.get(), values.data(), values.size_bytes());
    return uploaded;
  }

  std::shared_ptr<std::byte> data_, scales_;
};

/// D by the plainest loop; before it is added to, it holds ones.
std::vector<float> wanted(const gpu::Product& p, std::int64_t salt_b) {
  std::vector<float> d(static_cast<std::size_t>(p.m * p.n));
  const bool scaled = p.a.dtype != DType::bf16;
  for (std::int64_t row = 0; row < p.m; ++row) {
    for (std::int64_t col = 0; col < p.n; ++col) {
      float sum = 0;
      for (std::int64_t i = 0; i < p.k; ++i) sum += number(row, i) * number(col + salt_b, i);
      if (scaled) sum *= scale(row) * scale(col + salt_b);
      d[static_cast<std::size_t>(row * p.n + col)] = p.accumulate ? 1 + sum : sum;
    }
  }
  return d;
}

/// Results that are wrong.
std::int64_t wrong_results(gpu::Driver& driver, gpu::Product p, const MfmaTile& tile) {
  constexpr std::int64_t kSaltB = 1000;
  const Side a(driver, p.a, p.m, p.k, 0);
  const Side b(driver, p.b, p.n, p.k, kSaltB);
  const auto count = static_cast<std::size_t>(p.m * p.n);
  const std::size_t bytes = count * size_of(p.d_dtype);
  const auto d = driver.allocate(bytes);
  const std::vector<float> ones(count, 1.0F);
  driver.upload(d.get(), ones.data(), bytes);
  p.d = d.get();
  launch_mfma_product(driver, p, tile);
  std::vector<std::byte> got(bytes);
  driver.download(got.data(), d.get(), bytes);
  const std::vector<float> want = wanted(p, kSaltB);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (p.d_dtype == DType::f32) {
      float x = 0;
      std::memcpy(&x, got.data() + i * sizeof x, sizeof x);
      wrong += x == want[i] ? 0 : 1;
    } else {
      bf16 x{};
      std::memcpy(&x, got.data() + i * sizeof x, sizeof x);
      wrong += x.bits == to_bf16(want[i]).bits ? 0 : 1;
    }
  }
  return wrong;
}

class MfmaTiles : public testing::TestWithParam<const Processor*> {};

TEST_P(MfmaTiles, EachNamesKernelsThatAreThere) {
  gpu::Driver& driver = GetParam()->driver();
  for (const MfmaTile& tile : kMfmaTiles) {
    for (const Operands& operands : operands_of(*GetParam())) {
      const std::string name = gpu::mfma_kernel({.a = operands.a, .b = operands.b}, tile);
      EXPECT_NO_THROW((void)driver.kernel(name)) << name;
    }
  }
}

/// Tiles that lie half over D's edges; rows that begin at multiples of 16 bytes, and rows that do not.
TEST_P(MfmaTiles, EachGivesTheProduct) {
  gpu::Driver& driver = GetParam()->driver();
  for (const MfmaTile& tile : kMfmaTiles) {
    for (const Operands& operands : operands_of(*GetParam())) {
      for (const bool aligned : {true, false}) {
        gpu::Product p{.a = operands.a, .b = operands.b};
        p.m = tile.m + (aligned ? 16 : 7);
        p.n = aligned ? tile.n + 16 : tile.n / 2 + 3;
        p.k = aligned ? 160 : 75;
        p.accumulate = aligned;
        p.d_dtype = aligned ? DType::f32 : DType::bf16;
        EXPECT_EQ(wrong_results(driver, p, tile), 0) << gpu::mfma_kernel(p, tile) << (aligned ? "" : ", odd sizes");
      }
    }
  }
}

/// The largest of the tiles that leaves no compute unit without a block, and none that is half empty along a side.
TEST_P(MfmaTiles, TheTableIsTheRule) {
  const auto by_rule = [](std::int64_t m, std::int64_t n) {
    const std::int64_t squares = std::max<std::int64_t>(1, (m + 63) / 64) * std::max<std::int64_t>(1, (n + 63) / 64);
    for (const MfmaTile& tile : kMfmaTiles) {
      const bool fills_units = squares * 64 * 64 >= GetParam()->compute_units * tile.m * tile.n;
      const bool fills_tile = m > tile.m / 2 && (tile.n == 64 || n > tile.n / 2);
      if (fills_units && fills_tile) return tile;
    }
    return gpu::kDefaultMfmaTile;
  };
  for (const std::int64_t m : {1, 16, 64, 65, 128, 129, 512, 2048, 4096, 8192, 28672}) {
    for (const std::int64_t n : {1, 64, 65, 1024, 2048, 4096, 6144, 14336, 128256}) {
      const MfmaTile chosen = choose_mfma_tile(GetParam()->arch, m, n);
      EXPECT_EQ(chosen, by_rule(m, n)) << m << " x " << n << ": " << chosen.m << " x " << chosen.n;
    }
  }
  EXPECT_EQ(choose_mfma_tile(GetParam()->arch, 8192, 4096), (MfmaTile{256, 128}));
  EXPECT_EQ(choose_mfma_tile(GetParam()->arch, 16, 128256), gpu::kDefaultMfmaTile);
}

INSTANTIATE_TEST_SUITE_P(Processors, MfmaTiles, testing::Values(&kGfx942, &kGfx950),
                         [](const auto& processor) { return std::string(processor.param->arch); });

TEST(MfmaTileTable, RowsAreOfArchitecturesAndTilesThatThereAre) {
  for (const gpu::MfmaTileChoice& row : gpu::kMfmaTileChoices) {
    EXPECT_NE(std::ranges::find(kMfmaTiles, row.tile), kMfmaTiles.end()) << row.tile.m << " x " << row.tile.n;
    const auto is_its = [&](const gpu::CodeObject& object) { return object.arch == row.arch; };
    EXPECT_TRUE(std::ranges::any_of(gpu::code_objects(), is_its)) << row.arch;
  }
  EXPECT_NE(std::ranges::find(kMfmaTiles, gpu::kDefaultMfmaTile), kMfmaTiles.end());
  EXPECT_EQ(choose_mfma_tile("gfx90a", 8192, 8192), gpu::kDefaultMfmaTile);
}

}  // namespace
}  // namespace octet::test
