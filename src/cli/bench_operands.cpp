#include "cli/bench_operands.h"

#include <algorithm>

#include "core/random.h"
#include "ops/rope_table.h"

namespace octet::cli {
namespace {

constexpr std::int64_t kSourceBytes = std::int64_t{8} << 20;

template <typename T>
std::vector<T> random_source(bool both_signs) {
  std::vector<T> values(static_cast<std::size_t>(kSourceBytes) / sizeof(T));
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const auto words = philox(7, i, both_signs ? 0 : 1);
    for (std::size_t j = 0; j < words.size(); ++j) {
      const double in_unit = uniform(words[j]);
      const auto value = static_cast<float>(both_signs ? 2 * in_unit - 1 : in_unit);
      if constexpr (std::is_same_v<T, float>) {
        values[i + j] = value;
      } else if constexpr (std::is_same_v<T, bf16>) {
        values[i + j] = to_bf16(value);
      } else {
        values[i + j] = static_cast<T>((words[j] & 0x80U) | (words[j] >> 8 & 0x3FU));  // no NaN in any format
      }
    }
  }
  return values;
}

}  // namespace

template <typename T>
T* Operands::upload(std::span<const T> values) {
  T* block = room<T>(static_cast<Index>(values.size()));
  backend_.device().upload(block, values.data(), values.size_bytes());
  return block;
}

template <typename T>
T* Operands::random(Index count, Sign sign) {
  ops::Device& device = backend_.device();
  std::shared_ptr<std::byte>& source = sources_[{sizeof(T), sign}];
  if (source == nullptr) {
    const std::vector<T> values = random_source<T>(sign == Sign::both);
    source = device.allocator()(static_cast<std::size_t>(kSourceBytes));
    device.upload(source.get(), values.data(), static_cast<std::size_t>(kSourceBytes));
  }
  T* block = room<T>(count);
  const Index bytes = count * static_cast<Index>(sizeof(T));
  for (Index begin = 0; begin < bytes; begin += kSourceBytes) {
    backend_.run(
        ops::Copy{source.get(), reinterpret_cast<std::byte*>(block) + begin, std::min(kSourceBytes, bytes - begin)});
  }
  return block;
}

void* Operands::random(DType dtype, Index count, Sign sign) {
  if (dtype == DType::f32) return random<float>(count, sign);
  return random<bf16>(count, sign);
}

template bf16* Operands::random(Index, Sign);
template float* Operands::random(Index, Sign);
template std::int32_t* Operands::upload(std::span<const std::int32_t>);

std::int32_t* Operands::tokens(Index count, Index vocab) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::int32_t>(philox(3, i, 0)[0] % static_cast<std::uint64_t>(vocab));
  }
  return upload<std::int32_t>(tokens);
}

void Operands::bind(ops::RowCodes& codes, Index rows, Index cols) {
  if (!codes.wanted) return;
  codes.codes = room<std::uint8_t>(rows * cols);
  codes.scale_inverse = room<float>(rows);
}

void Operands::bind(ops::ColumnMaxima& columns, Index cols) {
  if (columns.wanted) columns.amax = room<bf16>(cols);
}

void Operands::bind(ops::CastLayout& layout, Index outer, Index contraction) {
  if (!layout.wanted()) return;
  layout.codes = room<std::uint8_t>(outer * contraction);
  layout.scale_inverse = room<float>(outer);
}

void Operands::bind(ops::ColumnCodes& codes, const ops::ColumnMaxima& maxima, Index rows, Index cols) {
  codes.codes = room<std::uint8_t>(rows * cols);
  codes.scale_inverse = room<float>(cols);
  codes.amax = maxima.amax;
}

void Operands::bind(ops::EmbeddingForward& op) {
  op.tokens = tokens(op.rows, op.vocab);
  op.table = random<bf16>(op.vocab * op.dim);
  op.out = room<bf16>(op.rows * op.dim);
}

void Operands::bind(ops::EmbeddingBackward& op) {
  op.tokens = tokens(op.rows, op.vocab);
  op.dy = random<bf16>(op.rows * op.dim);
  op.dtable = room<std::byte>(op.vocab * op.dim * static_cast<Index>(size_of(op.dtype)));
}

void Operands::bind(ops::RmsNormForward& op) {
  const Index count = op.rows * op.dim;
  op.x = random<bf16>(count);
  if (op.has_delta) {
    op.delta = random<bf16>(count);
    op.x_out = room<bf16>(count);
  }
  op.weight = random<bf16>(op.dim);
  if (op.stored) op.y = room<bf16>(count);
  op.rstd = room<float>(op.rows);
  bind(op.codes, op.rows, op.dim);
  bind(op.columns, op.dim);
}

void Operands::bind(ops::RmsNormForwardCast& op) {
  ops::RmsNormForward measure{};
  measure.columns.wanted = true;
  measure.rows = op.rows;
  measure.dim = op.dim;
  measure.eps = 1e-5F;
  measure.stored = false;
  bind(measure);
  backend_.run(measure, workspace(measure));
  op.x = measure.x;
  op.weight = measure.weight;
  op.rstd = measure.rstd;
  bind(op.transposed, measure.columns, op.rows, op.dim);
}

void Operands::bind(ops::RmsNormBackward& op) {
  const Index count = op.rows * op.dim;
  op.dy = random<bf16>(count);
  op.x = random<bf16>(count);
  op.weight = random<bf16>(op.dim);
  op.rstd = random<float>(op.rows, Sign::positive);
  if (op.has_residual) op.residual = random<bf16>(count);
  op.dx = room<bf16>(count);
  op.dweight = room<float>(op.dim);
  bind(op.codes, op.rows, op.dim);
  bind(op.columns, op.dim);
}

void Operands::bind(ops::Rope& op) {
  constexpr double kTheta = 500000;
  op.qkv = random<bf16>(op.rows * op.row_stride);
  // True rotations: values that are turned again and again keep their lengths.
  op.cos_sin = upload<float>(ops::rope_table(op.offset + op.seq_len, op.head_dim, kTheta, {}));
  bind(op.codes, op.rows, op.row_stride);
  bind(op.columns, op.row_stride);
}

void Operands::bind(ops::Documents& documents, const ops::AttentionShape& shape) {
  if (!documents.packed) return;
  std::vector<std::int32_t> starts;
  for (Index token = 0; token < shape.rows(); ++token) {
    const Index position = token % shape.seq_len;
    starts.push_back(static_cast<std::int32_t>(position - position % document_length_));
  }
  documents.start = upload<std::int32_t>(starts);
}

void Operands::bind(ops::AttentionForward& op) {
  op.qkv = random<bf16>(op.shape.rows() * op.shape.qkv_cols());
  op.out = room<bf16>(op.shape.rows() * op.shape.out_cols());
  op.lse = room<float>(op.shape.rows() * op.shape.heads);
  bind(op.documents, op.shape);
}

void Operands::bind(ops::AttentionBackward& op) {
  ops::AttentionForward forward{nullptr, nullptr, nullptr, op.shape, op.scale, op.documents};
  bind(forward);
  backend_.run(forward, workspace(forward));
  op.qkv = forward.qkv;
  op.out = forward.out;
  op.lse = forward.lse;
  op.documents = forward.documents;
  op.dout = random<bf16>(op.shape.rows() * op.shape.out_cols());
  op.dqkv = room<bf16>(op.shape.rows() * op.shape.qkv_cols());
}

void Operands::bind(ops::SwigluForward& op) {
  op.gate_up = random<bf16>(op.rows * 2 * op.dim);
  if (op.stored) op.y = room<bf16>(op.rows * op.dim);
  bind(op.codes, op.rows, op.dim);
  bind(op.columns, op.dim);
}

void Operands::bind(ops::SwigluBackward& op) {
  op.gate_up = random<bf16>(op.rows * 2 * op.dim);
  op.dy = random<bf16>(op.rows * op.dim);
  if (op.stored) op.dgate_up = room<bf16>(op.rows * 2 * op.dim);
  bind(op.codes, op.rows, 2 * op.dim);
  bind(op.columns, 2 * op.dim);
}

void Operands::bind(ops::SwigluBackwardCast& op) {
  ops::SwigluBackward measure{nullptr, nullptr, nullptr, {}, {.wanted = true}, op.rows, op.dim, false};
  bind(measure);
  backend_.run(measure, workspace(measure));
  op.gate_up = measure.gate_up;
  op.dy = measure.dy;
  bind(op.transposed, measure.columns, op.rows, 2 * op.dim);
  if (!op.activated.wanted) return;
  ops::SwigluForward forward{op.gate_up, nullptr, {}, {room<bf16>(op.dim), true}, op.rows, op.dim, false};
  backend_.run(forward, workspace(forward));
  bind(op.activated, forward.columns, op.rows, op.dim);
}

void Operands::bind(ops::QuantizeRows& op) {
  op.x = random<bf16>(op.rows * op.cols);
  bind(op.codes, op.rows, op.cols);
  bind(op.columns, op.cols);
}

void Operands::bind(ops::Maxima& op) {
  op.x = random<bf16>(op.rows * op.cols);
  op.row_amax = room<bf16>(op.rows);
  op.column_amax = room<bf16>(op.cols);
}

void Operands::bind(ops::Cast& op) {
  ops::Maxima measure{nullptr, nullptr, nullptr, op.rows, op.cols};
  bind(measure);
  backend_.run(measure, workspace(measure));
  op.x = measure.x;
  op.row_amax = measure.row_amax;
  op.column_amax = measure.column_amax;
  bind(op.as_stored, op.rows, op.cols);
  bind(op.transposed, op.cols, op.rows);
}

void Operands::bind(ops::GemmOperand& side, Index outer, Index contraction) {
  if (side.dtype == DType::bf16) {
    side.data = random<bf16>(outer * contraction);
    return;
  }
  side.data = random<std::uint8_t>(outer * contraction);
  side.scale_inverse = random<float>(outer, Sign::positive);
}

void Operands::bind(ops::Gemm& op) {
  bind(op.a, op.m, op.k);
  bind(op.b, op.n, op.k);
  op.d = op.d_dtype == DType::f32 ? static_cast<void*>(room<float>(op.m * op.n)) : room<bf16>(op.m * op.n);
}

void Operands::bind(ops::CrossEntropy& op) {
  op.logits = random<bf16>(op.rows * op.vocab);
  op.targets = tokens(op.rows, op.vocab);
  op.loss = room<float>(op.rows);
}

void Operands::bind(ops::SumFloats& op) {
  op.x = random<float>(op.count);
  op.total = room<double>(1);
}

void Operands::bind(ops::Zero& op) {
  op.data = room<std::byte>(op.size);
}

void Operands::bind(ops::SumOfSquares& op) {
  op.x = random(op.dtype, op.count);
  op.total = room<double>(1);
}

/// The tenth step of a run, with a learning rate that leaves values near those that it starts from.
void Operands::bind(ops::AdamW& op) {
  const Index count = op.rows * op.cols;
  const ops::StepScalars scalars{1e-5F, 1, 0.65F, 0.4F, 1};
  if (op.has_master) op.master = random<float>(count);
  op.weight = random<bf16>(count);
  op.gradient = random(op.gradients, count);
  op.m = random(op.moments, count);
  op.v = random(op.moments, count, Sign::positive);
  op.scalars = upload<ops::StepScalars>({&scalars, 1});
  if (op.measures) {
    op.row_amax = room<bf16>(op.rows);
    op.column_amax = room<bf16>(op.cols);
  }
  op.beta1 = 0.9F;
  op.beta2 = 0.95F;
  op.eps = 1e-8F;
  op.weight_decay = 0.1F;
  op.lr_scale = 1;
}

void Operands::bind(ops::Copy& op) {
  op.from = random<bf16>(op.size / static_cast<Index>(sizeof(bf16)));
  op.to = room<std::byte>(op.size);
}

}  // namespace octet::cli
