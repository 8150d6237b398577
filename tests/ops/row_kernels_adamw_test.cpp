// AdamW's row kernel: the bits of a scalar step at every level of this machine, the random bits it rounds with, and
// what stochastic rounding is for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <type_traits>

#include "core/rounding_bits.h"
#include "ops/cpu/row_kernels.h"
#include "row_kernels_data.h"

namespace octet::ops::cpu {
namespace {

using testing::levels_of_this_machine;
using testing::Values;

// Every word of key and stream matters.
constexpr std::uint64_t kKey = 0x0123'4567'89AB'CDEFU;
constexpr std::uint64_t kStream = 0xFEDC'BA98'7654'3210U;

/// What a step reads and changes. A parameter without a master leaves that empty.
template <typename Moment>
struct State {
  Index rows, cols;
  std::vector<float> master;
  std::vector<bf16> weight;
  std::vector<Moment> m, v;
};

template <typename T>
constexpr DType dtype_of() {
  return std::is_same_v<T, bf16> ? DType::bf16 : DType::f32;
}

template <typename Gradient, typename Moment>
AdamW step_of(State<Moment>& state, const std::vector<Gradient>& gradient, const StepScalars& scalars) {
  return {.master = state.master.empty() ? nullptr : state.master.data(),
          .weight = state.weight.data(),
          .gradient = gradient.data(),
          .m = state.m.data(),
          .v = state.v.data(),
          .scalars = &scalars,
          .row_amax = nullptr,
          .column_amax = nullptr,
          .rows = state.rows,
          .cols = state.cols,
          .stream = kStream,
          .gradients = dtype_of<Gradient>(),
          .moments = dtype_of<Moment>(),
          .has_master = !state.master.empty(),
          .measures = false,
          .beta1 = 0.9F,
          .beta2 = 0.95F,
          .eps = 1e-8F,
          .weight_decay = 0.1F,
          .lr_scale = 0.5F};
}

// ---- the bits of a step ---------------------------------------------------------------------------------------------

float value_of(float x) {
  return x;
}
float value_of(bf16 x) {
  return to_float(x);
}
void keep(float& moment, float x, std::uint16_t) {
  moment = x;
}
void keep(bf16& moment, float x, std::uint16_t random) {
  moment = round_stochastically(x, random);
}

/// Element by element in floats, in the order of operations that the kernel promises.
template <typename Gradient, typename Moment>
void scalar_step(const AdamW& op, const std::vector<Gradient>& gradients, State<Moment>& state) {
  const StepScalars& set = *op.scalars;
  for (Index row = 0; row < op.rows; ++row) {
    for (Index col = 0; col < op.cols; ++col) {
      const auto i = static_cast<std::size_t>(row * op.cols + col);
      const RoundingBits random = rounding_bits(set.rounding_key, op.stream, row, col, op.cols);
      const float gradient = value_of(gradients[i]) * set.clip_factor;
      const float m = value_of(state.m[i]) * op.beta1 + gradient * (1.0F - op.beta1);
      const float v = value_of(state.v[i]) * op.beta2 + gradient * gradient * (1.0F - op.beta2);
      const float step = (m / set.bias_correction1) / (std::sqrt(v / set.bias_correction2) + op.eps);
      const float old = op.has_master ? state.master[i] : to_float(state.weight[i]);
      const float updated = old - (step + old * op.weight_decay) * (set.learning_rate * op.lr_scale);
      keep(state.m[i], m, random.m);
      keep(state.v[i], v, random.v);
      state.weight[i] = op.has_master ? to_bf16(updated) : round_stochastically(updated, random.weight);
      if (op.has_master) state.master[i] = updated;
    }
  }
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(fp8::bits_of(value));
  return bits;
}
std::vector<std::uint32_t> bits_of(const std::vector<bf16>& values) {
  std::vector<std::uint32_t> bits;
  for (const bf16 value : values) bits.push_back(value.bits);
  return bits;
}

template <typename T>
std::vector<T> numbers(Values& values, Index count) {
  if constexpr (std::is_same_v<T, bf16>) {
    return values.bf16s(count);
  } else {
    return values.floats(count);
  }
}

template <typename Moment>
State<Moment> random_state(Index rows, Index cols, bool has_master, Values& values) {
  const Index count = rows * cols;
  State<Moment> state{rows, cols, {}, values.bf16s(count), {}, {}};
  if (has_master) state.master = values.floats(count);
  for (Index i = 0; i < count; ++i) {
    const float m = values.normal();
    const float v = std::abs(values.normal());
    if constexpr (std::is_same_v<Moment, bf16>) {
      state.m.push_back(to_bf16(m));
      state.v.push_back(to_bf16(v));
    } else {
      state.m.push_back(m);
      state.v.push_back(v);
    }
  }
  return state;
}

template <typename Gradient, typename Moment>
void expect_scalar_bits(CpuIsa isa, Index rows, Index cols, bool has_master) {
  Values values(static_cast<std::uint32_t>(cols));
  State<Moment> state = random_state<Moment>(rows, cols, has_master, values);
  State<Moment> expected = state;
  for (std::uint64_t step = 1; step <= 3; ++step) {
    const std::vector<Gradient> gradient = numbers<Gradient>(values, rows * cols);
    const StepScalars scalars{1e-2F, 0.25F, 0.271F, 0.0975F, kKey * step};
    row_kernels(isa).adamw(step_of(state, gradient, scalars), 0, rows, nullptr);
    scalar_step(step_of(expected, gradient, scalars), gradient, expected);
    const std::string what =
        fmt::format("{} [{}, {}]{}, {} gradients, {} moments, step {}", name(isa), rows, cols,
                    has_master ? " master" : "", name(dtype_of<Gradient>()), name(dtype_of<Moment>()), step);
    EXPECT_EQ(bits_of(state.master), bits_of(expected.master)) << what;
    EXPECT_EQ(bits_of(state.weight), bits_of(expected.weight)) << what;
    EXPECT_EQ(bits_of(state.m), bits_of(expected.m)) << what;
    EXPECT_EQ(bits_of(state.v), bits_of(expected.v)) << what;
  }
}

TEST(RowKernelsAdamW, HasTheBitsOfAScalarStep) {
  for (const CpuIsa isa : levels_of_this_machine()) {
    for (const Index cols : {1, 2, 15, 16, 17, 31, 32, 33, 64, 129, 1025}) {
      for (const bool has_master : {true, false}) {
        expect_scalar_bits<float, float>(isa, 5, cols, has_master);
        expect_scalar_bits<float, bf16>(isa, 5, cols, has_master);
        expect_scalar_bits<bf16, float>(isa, 5, cols, has_master);
        expect_scalar_bits<bf16, bf16>(isa, 5, cols, has_master);
      }
    }
  }
}

TEST(RowKernelsAdamW, RangesOfRowsTakeTheRandomBitsOfTheWhole) {
  Values values(1);
  State<bf16> state = random_state<bf16>(9, 37, false, values);
  State<bf16> expected = state;
  const std::vector<float> gradient = values.floats(9 * 37);
  const StepScalars scalars{1e-2F, 0.25F, 0.271F, 0.0975F, kKey};
  const AdamW op = step_of(state, gradient, scalars);
  for (const auto& [begin, end] : {std::pair{4, 9}, {0, 1}, {1, 4}}) {
    row_kernels(detect_cpu_isa()).adamw(op, begin, end, nullptr);
  }
  scalar_step(step_of(expected, gradient, scalars), gradient, expected);
  EXPECT_EQ(bits_of(state.weight), bits_of(expected.weight));
  EXPECT_EQ(bits_of(state.m), bits_of(expected.m));
  EXPECT_EQ(bits_of(state.v), bits_of(expected.v));
}

// ---- the random bits ------------------------------------------------------------------------------------------------

/// A step in which the first moment and the weight become the gradient, before both are rounded.
struct Rounded {
  std::vector<bf16> weight, m;
};
Rounded round_gradient(CpuIsa isa, Index rows, Index cols, const std::vector<float>& gradient, std::uint64_t key) {
  const std::size_t count = gradient.size();
  State<bf16> state{rows, cols, {}, std::vector<bf16>(count), std::vector<bf16>(count), {}};
  state.v.assign(count, to_bf16(1.0F));
  const StepScalars scalars{-1.0F, 1.0F, 1.0F, 1.0F, key};
  AdamW op = step_of(state, gradient, scalars);
  op.beta1 = 0.0F;
  op.beta2 = 1.0F;
  op.eps = 0.0F;
  op.lr_scale = 1.0F;
  row_kernels(isa).adamw(op, 0, rows, nullptr);
  return {state.weight, state.m};
}

/// The random bits that rounded each element, found bit by bit: 1 + d * 2^-23 is rounded up where d + random >= 2^16.
std::vector<std::uint16_t> find_random_bits(CpuIsa isa, Index rows, Index cols, std::vector<bf16> Rounded::*which) {
  std::vector<std::uint16_t> found(static_cast<std::size_t>(rows * cols));
  for (int bit = 15; bit >= 0; --bit) {
    std::vector<float> gradient;
    const auto with_bit = [&](std::size_t i) { return static_cast<std::uint32_t>(found[i]) | 1U << bit; };
    for (std::size_t i = 0; i < found.size(); ++i) {
      gradient.push_back(fp8::float_of(fp8::bits_of(1.0F) + 0x1'0000U - with_bit(i)));
    }
    const std::vector<bf16> rounded = round_gradient(isa, rows, cols, gradient, kKey).*which;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (to_float(rounded[i]) > 1.0F) found[i] = static_cast<std::uint16_t>(with_bit(i));
    }
  }
  return found;
}

TEST(RowKernelsAdamW, TakesItsRandomBitsFromPhilox) {
  const Index rows = 3;
  for (const CpuIsa isa : levels_of_this_machine()) {
    for (const Index cols : {1, 31, 32, 67}) {
      const auto of_weight = find_random_bits(isa, rows, cols, &Rounded::weight);
      const auto of_m = find_random_bits(isa, rows, cols, &Rounded::m);
      for (Index i = 0; i < rows * cols; ++i) {
        const auto col = static_cast<std::uint64_t>(i % cols);
        const auto block = static_cast<std::uint64_t>(i / cols * ((cols + 3) / 4)) + col / 4;
        const std::uint32_t word = philox(kKey, block, kStream)[col % 4];
        EXPECT_EQ(of_weight[static_cast<std::size_t>(i)], word & 0xFFFFU) << name(isa) << " " << cols << " " << i;
        EXPECT_EQ(of_m[static_cast<std::size_t>(i)], word >> 16) << name(isa) << " " << cols << " " << i;
      }
    }
  }
}

/// Of pairs that are uniform in [0, 2^16) each.
double correlation(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] / 65535.0 - 0.5) * (b[i] / 65535.0 - 0.5);
  return 12 * sum / static_cast<double>(a.size());
}

TEST(RowKernelsAdamW, RandomBitsOfNeighboursMomentsAndStepsAreNotCorrelated) {
  const Index count = 1 << 16;
  struct Streams {
    std::vector<std::uint16_t> weight, m, v, right, below, next_step;
  } bits;
  for (Index i = 0; i < count; ++i) {
    const Index row = i / 256;
    const Index col = i % 256;
    const RoundingBits here = rounding_bits(kKey, kStream, row, col, 257);
    bits.weight.push_back(here.weight);
    bits.m.push_back(here.m);
    bits.v.push_back(here.v);
    bits.right.push_back(rounding_bits(kKey, kStream, row, col + 1, 257).weight);
    bits.below.push_back(rounding_bits(kKey, kStream, row + 1, col, 257).weight);
    bits.next_step.push_back(rounding_bits(kKey + 1, kStream, row, col, 257).weight);
  }
  const double allowed = 4 / std::sqrt(static_cast<double>(count));  // four standard deviations
  EXPECT_NEAR(correlation(bits.weight, bits.m), 0, allowed);
  EXPECT_NEAR(correlation(bits.weight, bits.v), 0, allowed);
  EXPECT_NEAR(correlation(bits.m, bits.v), 0, allowed);
  EXPECT_NEAR(correlation(bits.weight, bits.right), 0, allowed);
  EXPECT_NEAR(correlation(bits.m, bits.right), 0, allowed);
  EXPECT_NEAR(correlation(bits.v, bits.right), 0, allowed);
  EXPECT_NEAR(correlation(bits.weight, bits.below), 0, allowed);
  EXPECT_NEAR(correlation(bits.weight, bits.next_step), 0, allowed);
  EXPECT_NEAR(correlation(bits.weight, bits.weight), 1, 0.02);  // what a shared word would give
}

// ---- what stochastic rounding is for --------------------------------------------------------------------------------

double mean(const std::vector<bf16>& values) {
  double sum = 0;
  for (const bf16 value : values) sum += static_cast<double>(to_float(value));
  return sum / static_cast<double>(values.size());
}

TEST(RowKernelsAdamW, RoundingIsRightInTheMean) {
  const Index rows = 64;
  const Index cols = 1024;
  for (const double between : {0.01, 0.25, 0.5, 0.9}) {  // the place of a number between its neighbours
    for (const double lower : {1.0, -1.9921875, 0x1.8p-20}) {
      const double ulp = std::ldexp(1.0, std::ilogb(lower) - 7);
      const auto x = static_cast<float>(lower + between * ulp);
      const std::vector<float> gradient(static_cast<std::size_t>(rows * cols), x);
      const Rounded rounded = round_gradient(detect_cpu_isa(), rows, cols, gradient, kKey);
      const double deviation = ulp * std::sqrt(between * (1 - between) / static_cast<double>(rows * cols));
      EXPECT_NEAR(mean(rounded.weight), static_cast<double>(x), 4 * deviation) << between << " above " << lower;
      EXPECT_NEAR(mean(rounded.m), static_cast<double>(x), 4 * deviation) << between << " above " << lower;
    }
  }
}

// Each step is a fiftieth of the distance to the neighbour: rounded to nearest, the weights would never move.
TEST(RowKernelsAdamW, TinyUpdatesMoveTheWeightInTheMean) {
  const int steps = 100;
  const double ulp = 0x1p-8;  // below 1
  const double share = 0.02;
  State<float> state{16, 1024, {}, std::vector<bf16>(16 * 1024, to_bf16(1.0F)), {}, {}};
  state.m.assign(state.weight.size(), 1.0F);
  state.v.assign(state.weight.size(), 1.0F);
  const std::vector<float> gradient(state.weight.size(), 1.0F);
  const auto learning_rate = static_cast<float>(share * ulp);
  ASSERT_EQ(to_bf16(1.0F - learning_rate).bits, to_bf16(1.0F).bits);
  for (int step = 1; step <= steps; ++step) {
    const StepScalars scalars{learning_rate, 1.0F, 1.0F, 1.0F, kKey + static_cast<std::uint64_t>(step)};
    AdamW op = step_of(state, gradient, scalars);
    op.weight_decay = 0.0F;
    op.lr_scale = 1.0F;
    row_kernels(detect_cpu_isa()).adamw(op, 0, state.rows, nullptr);
  }
  // A weight has moved by a binomial number of ulps: `steps` independent draws of probability `share`.
  const double variance = ulp * ulp * steps * share * (1 - share);
  const auto count = static_cast<double>(state.weight.size());
  EXPECT_NEAR(mean(state.weight), 1 - steps * share * ulp, 4 * std::sqrt(variance / count));
  double squares = 0;
  for (const bf16 weight : state.weight) {
    const double moved = 1 - steps * share * ulp - static_cast<double>(to_float(weight));
    squares += moved * moved;
  }
  EXPECT_NEAR(squares / count, variance, 0.05 * variance);
}

}  // namespace
}  // namespace octet::ops::cpu
