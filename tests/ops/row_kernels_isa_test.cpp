// Every row kernel gives the same bits at each instruction set of this machine, whatever the sizes and the values.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>

#include "ops/cpu/row_kernels.h"
#include "row_kernels_data.h"

namespace octet::ops::cpu {
namespace {

using testing::levels_of_this_machine;
using testing::Values;

/// The bytes that a kernel wrote. A float NaN counts as such: whose sign and payload the sum of two NaNs takes is the
/// compiler's choice.
class Output {
 public:
  template <typename T>
  void add(const std::vector<T>& values) {
    for (const T& value : values) add(value);
  }
  template <typename T>
  void add(T value) {
    if constexpr (std::is_floating_point_v<T>) value = std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
    const auto* first = reinterpret_cast<const std::uint8_t*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof value);
  }
  friend bool operator==(const Output&, const Output&) = default;

 private:
  std::vector<std::uint8_t> bytes_;
};

template <typename T>
std::vector<T> unwritten(Index count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  if (count > 0) std::memset(values.data(), 0x5A, values.size() * sizeof(T));
  return values;
}

/// What a producer leaves beside its output.
struct Measured {
  std::vector<std::uint8_t> codes;
  std::vector<float> scale_inverse;
  std::vector<bf16> row_amax;
  std::vector<std::uint16_t> column_amax;

  Measured(Index rows, Index cols)
      : codes(unwritten<std::uint8_t>(rows * cols)),
        scale_inverse(unwritten<float>(rows)),
        row_amax(unwritten<bf16>(rows)),
        column_amax(static_cast<std::size_t>(cols)) {}
  RowCodes in(fp8::Format format) {
    return {codes.data(), scale_inverse.data(), row_amax.data(), fp8::ScaleRule::of(format, true), true};
  }
};

void add(Output& output, const Measured& measured) {
  output.add(measured.codes);
  output.add(measured.scale_inverse);
  output.add(measured.row_amax);
  output.add(measured.column_amax);
}

constexpr Index kRows = 3;

/// Runs a kernel on sizes around the widths of registers, blocks and tiles, at each level on the same values.
void expect_same_bits(const std::function<Output(const RowKernels&, Index size, Values values)>& run) {
  for (const Index size : {0, 1, 2, 5, 15, 16, 17, 31, 32, 33, 61, 64, 67, 128, 131, 500, 1025}) {
    const auto seed = static_cast<std::uint32_t>(size);
    const Output expected = run(row_kernels(CpuIsa::baseline), size, Values(seed));
    for (const CpuIsa isa : levels_of_this_machine()) {
      EXPECT_EQ(run(row_kernels(isa), size, Values(seed)), expected) << name(isa) << ", size " << size;
    }
  }
}

TEST(RowKernelsIsa, Embedding) {
  expect_same_bits([](const RowKernels& kernels, Index dim, Values values) {
    const std::vector<std::int32_t> tokens{2, 0, 2};
    const std::vector<bf16> table = values.specials(kRows * dim, 50);
    std::vector<bf16> out = unwritten<bf16>(kRows * dim);
    const std::vector<std::int32_t> order{1, 0, 2};
    std::vector<float> dtable = values.floats(kRows * dim);
    std::vector<bf16> dtable_bf16 = values.bf16s(kRows * dim);
    kernels.embedding_forward({tokens.data(), table.data(), out.data(), kRows, dim, kRows}, 0, kRows);
    const EmbeddingBackward to_f32{tokens.data(), table.data(), dtable.data(), kRows, dim, kRows, DType::f32};
    const EmbeddingBackward to_bf16{tokens.data(), table.data(), dtable_bf16.data(), kRows, dim, kRows, DType::bf16};
    for (const EmbeddingBackward& op : {to_f32, to_bf16}) {
      kernels.embedding_backward(op, order.data(), 0, dim / 2);
      kernels.embedding_backward(op, order.data(), dim / 2, dim);
    }
    Output output;
    output.add(out);
    output.add(dtable);
    output.add(dtable_bf16);
    return output;
  });
}

TEST(RowKernelsIsa, RmsNormForward) {
  for (const fp8::Format format : testing::kFormats) {
    for (const bool has_delta : {false, true}) {
      expect_same_bits([&](const RowKernels& kernels, Index dim, Values values) {
        const std::vector<bf16> x = values.specials(kRows * dim, 1000);
        const std::vector<bf16> delta = values.bf16s(kRows * dim);
        const std::vector<bf16> weight = values.bf16s(dim);
        std::vector<bf16> x_out = unwritten<bf16>(kRows * dim);
        std::vector<bf16> y = unwritten<bf16>(kRows * dim);
        std::vector<float> rstd = unwritten<float>(kRows);
        Measured measured(kRows, dim);
        kernels.rmsnorm_forward({x.data(), delta.data(), weight.data(), x_out.data(), y.data(), rstd.data(),
                                 measured.in(format), ColumnMaxima{}, kRows, dim, 1e-5F, has_delta},
                                0, kRows, measured.column_amax.data(), nullptr);
        std::vector<std::uint8_t> turned = unwritten<std::uint8_t>(kRows * dim);
        const std::vector<float> scales(static_cast<std::size_t>(dim), 0x1p-3F);
        kernels.rmsnorm_forward_cast({x.data(), weight.data(), rstd.data(), {.codes = turned.data()}, kRows, dim},
                                     scales.data(), 0, dim);
        Output output;
        output.add(turned);
        output.add(x_out);
        output.add(y);
        output.add(rstd);
        add(output, measured);
        return output;
      });
    }
  }
}

TEST(RowKernelsIsa, RmsNormBackward) {
  for (const bool has_residual : {false, true}) {
    expect_same_bits([&](const RowKernels& kernels, Index dim, Values values) {
      const std::vector<bf16> dy = values.bf16s(kRows * dim);
      const std::vector<bf16> x = values.specials(kRows * dim, 1000);
      const std::vector<bf16> weight = values.bf16s(dim);
      const std::vector<bf16> residual = values.bf16s(kRows * dim);
      const std::vector<float> rstd = values.floats(kRows);
      std::vector<bf16> dx = unwritten<bf16>(kRows * dim);
      std::vector<float> partials(static_cast<std::size_t>(2 * dim));
      std::vector<float> dweight = values.floats(dim);
      Measured measured(kRows, dim);
      const RmsNormBackward op{.dy = dy.data(),
                               .x = x.data(),
                               .weight = weight.data(),
                               .rstd = rstd.data(),
                               .residual = residual.data(),
                               .dx = dx.data(),
                               .dweight = dweight.data(),
                               .codes = measured.in(fp8::Format::e5m2),
                               .columns = {},
                               .rows = kRows,
                               .dim = dim,
                               .has_residual = has_residual};
      kernels.rmsnorm_backward(op, 0, 2, partials.data(), measured.column_amax.data());
      kernels.rmsnorm_backward(op, 2, kRows, partials.data() + dim, measured.column_amax.data());
      kernels.column_sums(partials.data(), 2, dim, dweight.data(), 0, dim);
      Output output;
      output.add(dx);
      output.add(dweight);
      add(output, measured);
      return output;
    });
  }
}

TEST(RowKernelsIsa, Rope) {
  for (const bool inverse : {false, true}) {
    expect_same_bits([&](const RowKernels& kernels, Index half, Values values) {
      const Index head_dim = 2 * half;
      const Index heads = 2;
      const Index cols = 3 * head_dim;
      std::vector<bf16> qkv = values.bf16s(kRows * cols);
      const std::vector<float> cos_sin = values.floats(kRows * head_dim);
      Measured measured(kRows, cols);
      kernels.rope({qkv.data(), cos_sin.data(), kRows, cols, heads, head_dim, 2, 1, inverse,
                    measured.in(fp8::Format::e4m3fn), ColumnMaxima{}},
                   0, kRows, measured.column_amax.data());
      Output output;
      output.add(qkv);
      add(output, measured);
      return output;
    });
  }
}

TEST(RowKernelsIsa, HeadNormRope) {
  expect_same_bits([](const RowKernels& kernels, Index half, Values values) {
    const HeadNormShape shape{
        .rows = kRows, .seq_len = 2, .heads = 2, .kv_heads = 1, .head_dim = 2 * half, .offset = 1};
    const std::vector<bf16> x = values.bf16s(kRows * shape.cols());
    const std::vector<bf16> weights = values.bf16s(2 * shape.head_dim);
    const std::vector<float> cos_sin = values.floats(kRows * shape.head_dim);
    std::vector<bf16> y = unwritten<bf16>(kRows * shape.cols());
    std::vector<bf16> dqkv = values.bf16s(kRows * shape.cols());
    std::vector<float> partial(static_cast<std::size_t>(2 * shape.head_dim));
    Measured measured(kRows, shape.cols());
    kernels.head_norm_rope({x.data(), weights.data(), cos_sin.data(), y.data(), shape, 1e-6F}, 0, kRows);
    kernels.head_norm_rope_backward({x.data(), weights.data(), cos_sin.data(), dqkv.data(), nullptr,
                                     measured.in(fp8::Format::e5m2), ColumnMaxima{}, shape, 1e-6F},
                                    0, kRows, partial.data(), measured.column_amax.data());
    Output output;
    output.add(y);
    output.add(dqkv);
    output.add(partial);
    add(output, measured);
    return output;
  });
}

TEST(RowKernelsIsa, Swiglu) {
  expect_same_bits([](const RowKernels& kernels, Index dim, Values values) {
    std::vector<bf16> gate_up = values.specials(kRows * 2 * dim, 300);
    for (bf16& value : gate_up) {
      if (values.bits() % 4 == 0) value = to_bf16(100 * values.normal());
    }
    const std::vector<bf16> dy = values.bf16s(kRows * dim);
    std::vector<bf16> y = unwritten<bf16>(kRows * dim);
    std::vector<bf16> dgate_up = unwritten<bf16>(kRows * 2 * dim);
    Measured forward(kRows, dim);
    Measured backward(kRows, 2 * dim);
    kernels.swiglu_forward({gate_up.data(), y.data(), forward.in(fp8::Format::e4m3fn), {}, kRows, dim}, 0, kRows,
                           forward.column_amax.data(), nullptr);
    kernels.swiglu_backward(
        {gate_up.data(), dy.data(), dgate_up.data(), backward.in(fp8::Format::e4m3fnuz), {}, kRows, dim}, 0, kRows,
        backward.column_amax.data(), nullptr);
    std::vector<std::uint8_t> turned = unwritten<std::uint8_t>(kRows * 2 * dim);
    std::vector<std::uint8_t> turned_y = unwritten<std::uint8_t>(kRows * dim);
    const std::vector<float> scales(static_cast<std::size_t>(3 * dim), 0x1p-3F);
    kernels.swiglu_backward_cast(
        {gate_up.data(), dy.data(), {.codes = turned.data()}, kRows, dim, {.codes = turned_y.data()}}, scales.data(), 0,
        dim);
    Output output;
    output.add(y);
    add(output, forward);
    output.add(dgate_up);
    add(output, backward);
    output.add(turned);
    output.add(turned_y);
    return output;
  });
}

TEST(RowKernelsIsa, CrossEntropy) {
  for (const bool gradient : {false, true}) {
    expect_same_bits([&](const RowKernels& kernels, Index size, Values values) {
      const Index vocab = size + 1;  // a target must exist
      std::vector<bf16> logits = values.bf16s(kRows * vocab, 10.0F);
      if (size % 2 == 1) logits = values.specials(kRows * vocab, 400);
      const std::vector<std::int32_t> targets{0, -1, static_cast<std::int32_t>(size)};
      std::vector<float> loss = unwritten<float>(kRows);
      kernels.cross_entropy({logits.data(), targets.data(), loss.data(), kRows, vocab, 0.125F, gradient}, 0, kRows);
      Output output;
      output.add(logits);
      output.add(loss);
      return output;
    });
  }
}

TEST(RowKernelsIsa, SumsAndSearches) {
  expect_same_bits([](const RowKernels& kernels, Index count, Values values) {
    std::vector<float> x = values.floats(count);
    std::vector<bf16> halves = values.bf16s(count);
    Output output;
    output.add(kernels.sum(x.data(), 0, count));
    output.add(kernels.sum_of_squares_f32(x.data(), count / 3, count));
    output.add(kernels.sum_of_squares_bf16(halves.data(), count / 3, count));
    output.add(kernels.find_non_finite_f32(x.data(), 0, count));
    if (count > 2) {
      x[static_cast<std::size_t>(count - 2)] = NAN;
      halves[static_cast<std::size_t>(count - 1)].bits = 0xFF80;
    }
    output.add(kernels.find_non_finite_f32(x.data(), 0, count));
    output.add(kernels.find_non_finite_bf16(halves.data(), 0, count));
    return output;
  });
}

/// One step on a parameter [kRows, cols] of random values; `Gradient` and `Moment` are float or bf16.
template <typename Gradient, typename Moment>
Output adamw_step(const RowKernels& kernels, Index cols, Values values, bool has_master) {
  const Index count = kRows * cols;
  std::vector<float> master = values.floats(count);
  std::vector<bf16> weight = values.bf16s(count);
  std::vector<Gradient> gradient = unwritten<Gradient>(count);
  std::vector<Moment> m = unwritten<Moment>(count);
  std::vector<Moment> v = unwritten<Moment>(count);
  const auto fill = []<typename T>(T& element, float value) {
    if constexpr (std::is_same_v<T, bf16>) {
      element = to_bf16(value);
    } else {
      element = value;
    }
  };
  for (Gradient& each : gradient) fill(each, values.normal());
  for (Moment& each : m) fill(each, values.normal());
  for (Moment& each : v) fill(each, std::abs(values.normal()));
  const StepScalars scalars{1e-3F, 0.5F, 0.1F, 0.05F, 0x0123'4567'89AB'CDEFU};
  Measured measured(kRows, cols);
  kernels.adamw({.master = has_master ? master.data() : nullptr,
                 .weight = weight.data(),
                 .gradient = gradient.data(),
                 .m = m.data(),
                 .v = v.data(),
                 .scalars = &scalars,
                 .row_amax = measured.row_amax.data(),
                 .column_amax = nullptr,
                 .rows = kRows,
                 .cols = cols,
                 .stream = 0xFEDC'BA98'7654'3210U,
                 .gradients = std::is_same_v<Gradient, bf16> ? DType::bf16 : DType::f32,
                 .moments = std::is_same_v<Moment, bf16> ? DType::bf16 : DType::f32,
                 .has_master = has_master,
                 .measures = true,
                 .beta1 = 0.9F,
                 .beta2 = 0.95F,
                 .eps = 1e-8F,
                 .weight_decay = 0.1F,
                 .lr_scale = 0.5F},
                0, kRows, measured.column_amax.data());
  Output output;
  output.add(master);
  output.add(weight);
  output.add(m);
  output.add(v);
  add(output, measured);
  return output;
}

TEST(RowKernelsIsa, AdamW) {
  for (const bool has_master : {true, false}) {
    expect_same_bits([&](const RowKernels& kernels, Index cols, const Values& values) {
      return adamw_step<float, float>(kernels, cols, values, has_master);
    });
    expect_same_bits([&](const RowKernels& kernels, Index cols, const Values& values) {
      return adamw_step<float, bf16>(kernels, cols, values, has_master);
    });
    expect_same_bits([&](const RowKernels& kernels, Index cols, const Values& values) {
      return adamw_step<bf16, float>(kernels, cols, values, has_master);
    });
    expect_same_bits([&](const RowKernels& kernels, Index cols, const Values& values) {
      return adamw_step<bf16, bf16>(kernels, cols, values, has_master);
    });
  }
}

TEST(RowKernelsIsa, MatrixEdges) {
  expect_same_bits([](const RowKernels& kernels, Index cols, Values values) {
    const std::vector<bf16> halves = values.specials(cols, 20);
    std::vector<float> widened = unwritten<float>(cols);
    kernels.widen_to_f32(halves.data(), widened.data(), 0, cols);
    const std::vector<float> sums = values.floats(kRows * cols);
    const std::vector<float> row_scale = values.floats(kRows);
    const std::vector<float> col_scale = values.floats(cols + 1);
    std::vector<bf16> d = unwritten<bf16>(kRows * (cols + 3));
    std::vector<float> total = values.floats(kRows * (cols + 3));
    kernels.epilogue({sums.data(), kRows, cols, row_scale.data(), col_scale.data(), false, true, d.data(), cols + 3,
                      DType::bf16, false});
    kernels.epilogue({sums.data(), kRows, cols, row_scale.data(), col_scale.data(), true, false, total.data(), cols + 3,
                      DType::f32, true});
    Output output;
    output.add(widened);
    output.add(d);
    output.add(total);
    return output;
  });
}

TEST(RowKernelsIsa, AttentionRows) {
  expect_same_bits([](const RowKernels& kernels, Index keys, Values values) {
    const Index padded = keys + 5;
    std::vector<float> scores = values.floats(keys, 8.0F);
    const std::vector<float> dp = values.floats(keys);
    if (keys > 4) scores[3] = -std::numeric_limits<float>::infinity();
    std::vector<bf16> p = unwritten<bf16>(padded);
    std::vector<bf16> p_again = unwritten<bf16>(padded);
    std::vector<bf16> ds = unwritten<bf16>(padded);
    const float lse = kernels.softmax_row(scores.data(), keys, padded, 0.125F, p.data());
    kernels.softmax_backward_row(scores.data(), dp.data(), keys, padded, 0.125F, lse, 0.3F, p_again.data(), ds.data());
    const std::vector<bf16> a = values.bf16s(keys);
    Output output;
    output.add(p);
    output.add(lse);
    output.add(p_again);
    output.add(ds);
    output.add(kernels.dot(a.data(), a.data(), keys));
    return output;
  });
}

TEST(RowKernelsIsa, AttentionDecode) {
  for (const Index length : {1, 16, 45}) {
    expect_same_bits([&](const RowKernels& kernels, Index head_dim, Values values) {
      const Index batch = 2;
      const Index heads = 4;
      const Index kv_heads = 2;
      const Index capacity = length + 2;
      const std::vector<bf16> qkv = values.bf16s(batch * (heads + 2 * kv_heads) * head_dim);
      const std::vector<bf16> cache_k = values.bf16s(batch * capacity * kv_heads * head_dim);
      const std::vector<bf16> cache_v = values.bf16s(batch * capacity * kv_heads * head_dim);
      std::vector<bf16> out = unwritten<bf16>(batch * heads * head_dim);
      std::vector<float> scores(static_cast<std::size_t>(length));
      kernels.attention_decode({qkv.data(), cache_k.data(), cache_v.data(), out.data(), batch, length, capacity, heads,
                                kv_heads, head_dim, 0.1F},
                               0, batch * heads, scores.data());
      Output output;
      output.add(out);
      return output;
    });
  }
}

TEST(RowKernelsIsa, Difference) {
  expect_same_bits([](const RowKernels& kernels, Index size, Values values) {
    std::vector<double> energies = unwritten<double>(8);
    const std::vector<bf16> wanted = values.bf16s(size);
    const std::vector<bf16> got = values.specials(size, 100);
    const std::vector<float> wanted_floats = values.floats(size);
    const std::vector<float> got_floats = values.floats(size);
    kernels.difference_bf16(wanted.data(), got.data(), 0, size / 2, energies.data());
    kernels.difference_bf16(wanted.data(), got.data(), size / 2, size, energies.data() + 2);
    kernels.difference_f32(wanted_floats.data(), got_floats.data(), 0, size / 2, energies.data() + 4);
    kernels.difference_f32(wanted_floats.data(), got_floats.data(), size / 2, size, energies.data() + 6);
    Output output;
    output.add(energies);
    return output;
  });
}

}  // namespace
}  // namespace octet::ops::cpu
