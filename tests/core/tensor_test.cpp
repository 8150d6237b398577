// A tensor is never read as what it does not hold.
#include "core/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace octet::test {
namespace {

/// The message of the Failure that `body` throws.
template <typename Body>
std::string failure_of(Body body) {
  try {
    body();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing was thrown";
}

TEST(Tensor, GivesItsElementsAsTheirOwnTypeOnly) {
  std::array<float, 6> values{};
  const Tensor tensor(values.data(), DType::f32, 2, 3);
  EXPECT_EQ(tensor.ptr<float>(), values.data());
  EXPECT_EQ(failure_of([&] { (void)tensor.ptr<bf16>(); }), "a f32 tensor [2, 3] was used as bf16");
  EXPECT_EQ(failure_of([&] { (void)tensor.ptr<std::int32_t>(); }), "a f32 tensor [2, 3] was used as i32");
  EXPECT_EQ(failure_of([&] { (void)tensor.ptr<double>(); }), "a f32 tensor [2, 3] was used as f64");
}

template <fp8::Format Held, fp8::Format Asked>
void expect_fp8_access() {
  std::array<std::uint8_t, 4> codes{};
  const Tensor tensor(codes.data(), dtype_of(Held), 1, 4);
  if constexpr (Held == Asked) {
    EXPECT_EQ(static_cast<void*>(tensor.ptr<fp8::Code<Asked>>()), codes.data());
  } else {
    const std::string message = failure_of([&] { (void)tensor.ptr<fp8::Code<Asked>>(); });
    EXPECT_EQ(message, fmt::format("a {} tensor [1, 4] was used as {}", name(dtype_of(Held)), name(dtype_of(Asked))));
  }
}

template <fp8::Format Held>
void expect_fp8_accesses() {
  expect_fp8_access<Held, fp8::Format::e4m3fn>();
  expect_fp8_access<Held, fp8::Format::e4m3fnuz>();
  expect_fp8_access<Held, fp8::Format::e5m2>();
  expect_fp8_access<Held, fp8::Format::e5m2fnuz>();
}

TEST(Tensor, CodesOfOneFp8FormatAreNeverReadAsAnother) {
  expect_fp8_accesses<fp8::Format::e4m3fn>();
  expect_fp8_accesses<fp8::Format::e4m3fnuz>();
  expect_fp8_accesses<fp8::Format::e5m2>();
  expect_fp8_accesses<fp8::Format::e5m2fnuz>();
}

TEST(Tensor, ARowRangeIsAViewWithinItsTensor) {
  std::array<float, 12> values{};
  const Tensor tensor(values.data(), DType::f32, 4, 3);
  const Tensor rows = tensor.row_range(1, 2);
  EXPECT_EQ(rows.ptr<float>(), values.data() + 3);
  EXPECT_EQ(rows.rows(), 2);
  EXPECT_EQ(rows.cols(), 3);
  EXPECT_EQ(rows.bytes(), 24U);
  EXPECT_EQ(tensor.row_range(4, 0).numel(), 0);
  EXPECT_THROW((void)tensor.row_range(3, 2), Failure);
  EXPECT_THROW((void)tensor.row_range(-1, 2), Failure);
  EXPECT_THROW((void)tensor.row_range(0, -1), Failure);
}

TEST(Tensor, ARowRangeOfAPlannedTensorHasNoData) {
  const Tensor planned(nullptr, DType::bf16, 4, 3);
  EXPECT_EQ(planned.row_range(2, 1).raw(), nullptr);
}

}  // namespace
}  // namespace octet::test
