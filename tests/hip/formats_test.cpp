// One bf16 input, cast on a GPU that computes in e4m3fnuz (gfx942) and on one that computes in e4m3fn (gfx950): both
// codes stand for it as closely as their format can, and a scale for the other's maximum is noticed.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/error.h"
#include "fp8/demonstration.h"
#include "fp8/reference_codec.h"
#include "hip/simulator_in_process.h"
#include "ops/gpu/gpu_backend.h"

namespace octet::test {
namespace {

using fp8::Format;
using Index = std::int64_t;

constexpr Index kRows = 48;
constexpr Index kCols = 200;

/// A scale that `rule` makes, and codes under it, as values in double.
struct Decoded {
  std::vector<double> values;         // [kRows, kCols]
  std::vector<double> scale_inverse;  // [kRows]
};

class HipFormats : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static Environment environment;
    load_simulator(environment, {{"ARCH", "gfx942,gfx950"}, {"CHECK", "1"}});
  }

  /// Rows of all magnitudes, whose largest values lie on either side of each power of two that fits a format's maximum,
  /// and whose smallest are lost to either.
  [[nodiscard]] static std::vector<bf16> input() {
    constexpr std::array<float, 8> kLargest{1.0F, 1.25F, 1.75F, 1.796875F, 1.875F, 1.890625F, 1.9921875F, 1.5F};
    std::mt19937 random(11);  // NOLINT(cert-msc51-cpp): the same input on every run
    std::vector<bf16> x;
    for (Index row = 0; row < kRows; ++row) {
      const int exponent = static_cast<int>(row) * 3 / 2 - 30;
      for (Index col = 0; col < kCols; ++col) {
        const float unit = static_cast<float>(random() % 65536) / 32768.0F - 1.0F;
        const int below = static_cast<int>(random() % 20);
        x.push_back(to_bf16(std::ldexp(unit, exponent - below)));
      }
      x[static_cast<std::size_t>(row * kCols + row)] =
          to_bf16(std::ldexp(kLargest.at(static_cast<std::size_t>(row) % kLargest.size()), exponent));
    }
    return x;
  }

  /// Row codes of x by hip:`index`, whose format is `format`.
  [[nodiscard]] static Decoded cast(int index, Format format, fp8::ScaleRule rule, const std::vector<bf16>& x) {
    const auto backend = ops::make_hip_backend(index);
    ops::Device& device = backend->device();
    const auto room = [&](std::size_t bytes) { return device.allocator()(bytes); };
    const auto values = room(x.size() * sizeof(bf16));
    const auto codes = room(x.size());
    const auto scales = room(kRows * sizeof(float));
    device.upload(values.get(), x.data(), x.size() * sizeof(bf16));
    ops::QuantizeRows op{};
    op.x = reinterpret_cast<const bf16*>(values.get());
    op.codes = {reinterpret_cast<std::uint8_t*>(codes.get()), reinterpret_cast<float*>(scales.get()), nullptr, rule,
                true};
    op.rows = kRows;
    op.cols = kCols;
    const std::size_t bytes = backend->workspace_bytes(op);
    const auto workspace = room(bytes + 1);
    backend->run(op, {workspace.get(), bytes});

    std::vector<std::uint8_t> bytes_out(x.size());
    std::vector<float> inverse(kRows);
    device.download(bytes_out.data(), codes.get(), bytes_out.size());
    device.download(inverse.data(), scales.get(), inverse.size() * sizeof(float));
    const fp8::test::ReferenceCodec codec(format);
    Decoded decoded{{}, {inverse.begin(), inverse.end()}};
    for (std::size_t i = 0; i < x.size(); ++i) {
      decoded.values.push_back(codec.value(bytes_out[i]) * decoded.scale_inverse[i / kCols]);
    }
    return decoded;
  }

  /// Half a step of the format around x under a scale: the most that rounding to nearest may move it by.
  [[nodiscard]] static double half_ulp(Format format, double x, double scale_inverse) {
    const fp8::FormatInfo& of = fp8::info(format);
    const double scaled = std::fabs(x) / scale_inverse;
    const int exponent = std::max(scaled == 0 ? -1000 : std::ilogb(scaled), 1 - of.bias);
    return std::ldexp(scale_inverse, exponent - of.mantissa_bits - 1);
  }

  [[nodiscard]] static bool is_normal(Format format, double x, double scale_inverse) {
    return std::fabs(x) / scale_inverse >= static_cast<double>(fp8::info(format).min_normal);
  }
};

TEST_F(HipFormats, BothProcessorsDecodeToTheInputWithinTheirOwnRounding) {
  const std::vector<bf16> x = input();
  const Decoded fnuz = cast(0, Format::e4m3fnuz, fp8::ScaleRule::of(Format::e4m3fnuz, true), x);
  const Decoded ocp = cast(1, Format::e4m3fn, fp8::ScaleRule::of(Format::e4m3fn, true), x);
  int normal = 0;
  int apart = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = to_float(x[i]);
    const double of_fnuz = fnuz.scale_inverse[i / kCols];
    const double of_ocp = ocp.scale_inverse[i / kCols];
    int exponent = 0;
    ASSERT_EQ(std::frexp(of_fnuz, &exponent), 0.5) << "a power of two";
    ASSERT_EQ(std::frexp(of_ocp, &exponent), 0.5) << "a power of two";
    const double may_fnuz = half_ulp(Format::e4m3fnuz, value, of_fnuz);
    const double may_ocp = half_ulp(Format::e4m3fn, value, of_ocp);
    ASSERT_LE(std::fabs(fnuz.values[i] - value), may_fnuz) << value << " in row " << i / kCols;
    ASSERT_LE(std::fabs(ocp.values[i] - value), may_ocp) << value << " in row " << i / kCols;
    ASSERT_LE(std::fabs(fnuz.values[i] - ocp.values[i]), may_fnuz + may_ocp) << value;
    if (is_normal(Format::e4m3fnuz, value, of_fnuz) && is_normal(Format::e4m3fn, value, of_ocp)) {
      ++normal;  // as many bits of mantissa, and scales that move none of them
      ASSERT_EQ(fnuz.values[i], ocp.values[i]) << value;
    } else if (fnuz.values[i] != ocp.values[i]) {
      ++apart;
    }
  }
  EXPECT_GT(normal, kRows * kCols / 3);
  EXPECT_GT(apart, 0) << "the smallest values lie where the formats differ";
}

/// The published fault on the processor itself, as only the demonstration can write it.
TEST_F(HipFormats, AScaleFor448ClipsOnTheProcessorThatEndsAt240) {
  const std::vector<bf16> x = input();
  const Decoded wrong = cast(0, Format::e4m3fnuz, fp8::demonstration::fnuz_scaled_for_448(true), x);
  int clipped = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = to_float(x[i]);
    const double may = half_ulp(Format::e4m3fnuz, value, wrong.scale_inverse[i / kCols]);
    if (std::fabs(wrong.values[i] - value) > may) ++clipped;
  }
  EXPECT_GE(clipped, kRows / 2) << "the largest value of most rows, at least";
}

TEST_F(HipFormats, NeitherProcessorHasAKernelForTheOthersFormat) {
  const std::vector<bf16> x = input();
  EXPECT_THROW((void)cast(0, Format::e4m3fn, fp8::ScaleRule::of(Format::e4m3fn, true), x), Failure);
  EXPECT_THROW((void)cast(1, Format::e4m3fnuz, fp8::ScaleRule::of(Format::e4m3fnuz, true), x), Failure);
}

}  // namespace
}  // namespace octet::test
