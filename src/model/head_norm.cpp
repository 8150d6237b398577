#include "model/head_norm.h"

namespace octet {

HeadNorm::HeadNorm(std::string name, Heads heads, float eps, Slab& slab)
    : name_(std::move(name)),
      heads_(heads),
      eps_(eps),
      slab_(slab),
      place_(slab.add({name_ + ".qk_norm.weight",
                       2,
                       heads.head_dim,
                       0,
                       {0, 1},
                       GradientWrites::added,
                       false,
                       {{name_ + ".q_norm.weight", 1}, {name_ + ".k_norm.weight", 1}}})) {}

Buffer HeadNorm::forward(ops::Executor& run, const Tensor& projected, std::int64_t seq_len, std::int64_t offset,
                         const float* cos_sin) const {
  Buffer qkv = run.memory().allocate(name_ + ".rotated", DType::bf16, projected.rows(), projected.cols(),
                                     MemoryClass::activations);
  run(ops::HeadNormRope{projected.ptr<bf16>(), slab_.view(place_).weight.ptr<bf16>(), cos_sin, qkv.ptr<bf16>(),
                        shape(projected.rows(), seq_len, offset), eps_});
  return qkv;
}

void HeadNorm::backward(ops::Executor& run, const Tensor& projected, std::int64_t seq_len, const float* cos_sin,
                        const Linear& maker, LinearOperand& dqkv) const {
  maker.expect_gradient(run.memory(), projected.rows(), dqkv);
  run(ops::HeadNormRopeBackward{projected.ptr<bf16>(), slab_.view(place_).weight.ptr<bf16>(), cos_sin,
                                dqkv.values.ptr<bf16>(), slab_.gradient(place_).ptr<float>(), maker.gradient_rows(dqkv),
                                Linear::columns(dqkv), shape(projected.rows(), seq_len, 0), eps_});
}

ops::HeadNormShape HeadNorm::shape(std::int64_t rows, std::int64_t seq_len, std::int64_t offset) const {
  return {rows, seq_len, heads_.heads, heads_.kv_heads, heads_.head_dim, offset};
}

}  // namespace octet
