#include "model/rms_norm.h"

namespace octet {

/// What both forms of the forward have in common.
void RmsNorm::prepare(ops::Executor& run, Pass pass, std::int64_t rows, Buffer& rstd, const Linear* reader,
                      InputUse use, LinearOperand& out, ops::RmsNormForward& op) const {
  Memory& memory = run.memory();
  if (!rstd) rstd = memory.allocate(name_ + ".rstd", DType::f32, 1, rows, MemoryClass::activations);
  out.values = memory.allocate(name_ + ".output", DType::bf16, rows, dim_, MemoryClass::activations);
  if (reader != nullptr && pass != Pass::again) {
    reader->expect_input(memory, rows, use, out);
    op.codes = reader->input_rows(out);
    op.columns = Linear::columns(out);
  }
  op.weight = slab_.view(place_).weight.ptr<bf16>();
  op.y = out.values.ptr<bf16>();
  op.rstd = rstd.ptr<float>();
  op.rows = rows;
  op.dim = dim_;
  op.eps = eps_;
}

void RmsNorm::forward(ops::Executor& run, Pass pass, const NormRows& x, Buffer& rstd, const Linear* reader,
                      InputUse use, LinearOperand& out) const {
  ops::RmsNormForward op{};
  prepare(run, pass, x.rows, rstd, reader, use, out, op);
  op.x = x.first;
  op.x_stride = x.stride;
  run(op);
  run.observe(name_ + ".output", out.values.tensor());
}

void RmsNorm::forward(ops::Executor& run, Pass pass, const Tensor& x, const Tensor& delta, const Tensor& sum,
                      Buffer& rstd, const Linear* reader, InputUse use, LinearOperand& out) const {
  ops::RmsNormForward op{};
  prepare(run, pass, x.rows(), rstd, reader, use, out, op);
  op.x = x.ptr<bf16>();
  op.delta = delta.ptr<bf16>();
  op.x_out = sum.ptr<bf16>();
  op.has_delta = true;
  run(op);
  run.observe(name_ + ".output", out.values.tensor());
}

void RmsNorm::backward(ops::Executor& run, const Tensor& dy, const NormRows& x, const Buffer& rstd,
                       const NormRows& dx) const {
  check(x.stride == dx.stride, "a gradient lies as its input does");
  run(ops::RmsNormBackward{dy.ptr<bf16>(),
                           x.first,
                           slab_.view(place_).weight.ptr<bf16>(),
                           rstd.ptr<float>(),
                           nullptr,
                           dx.first,
                           slab_.gradient(place_).ptr<float>(),
                           {},
                           {},
                           x.rows,
                           dim_,
                           false,
                           x.stride});
}

void RmsNorm::backward(ops::Executor& run, const Tensor& dy, const Tensor& x, const Buffer& rstd,
                       const Tensor& residual, const Linear* below, LinearOperand& dx) const {
  if (below != nullptr) below->expect_gradient(run.memory(), x.rows(), dx);
  run(ops::RmsNormBackward{dy.ptr<bf16>(), x.ptr<bf16>(), slab_.view(place_).weight.ptr<bf16>(), rstd.ptr<float>(),
                           residual.ptr<bf16>(), dx.values.ptr<bf16>(), slab_.gradient(place_).ptr<float>(),
                           below != nullptr ? below->gradient_rows(dx) : ops::RowCodes{}, Linear::columns(dx), x.rows(),
                           dim_, true});
}

}  // namespace octet
