// An RMSNorm in front of a linear layer: its output, and beside it what that layer reads.
#pragma once

#include <string>

#include "model/saving.h"

namespace octet {

/// Rows of a matrix that may be wider than what is normed.
struct NormRows {
  bf16* first;  // [rows, dim] in rows of `stride`
  std::int64_t rows, stride;

  [[nodiscard]] static NormRows of(const Tensor& x) { return {x.ptr<bf16>(), x.rows(), x.cols()}; }
  /// The columns from `column` on.
  [[nodiscard]] static NormRows of(const Tensor& x, std::int64_t column) {
    return {x.raw() == nullptr ? nullptr : x.ptr<bf16>() + column, x.rows(), x.cols()};
  }
};

class RmsNorm {
 public:
  /// Adds its gain [1, dim], called NAME.weight, to `slab`.
  RmsNorm(std::string name, std::int64_t dim, float eps, Slab& slab)
      : name_(std::move(name)),
        dim_(dim),
        eps_(eps),
        slab_(slab),
        place_(slab.add({name_ + ".weight", 1, dim, 0, {0, 1}, GradientWrites::added, false, {}})) {}

  /// out.values [T, dim] = norm(x), and `rstd` [1, T] where it is null still. In a first pass what `reader`, where
  /// there is one, wants of its input comes beside it, as `use` says; in a second one its maxima are there.
  void forward(ops::Executor& run, Pass pass, const NormRows& x, Buffer& rstd, const Linear* reader, InputUse use,
               LinearOperand& out) const;
  /// The same of x + delta, which goes to `sum` [T, dim].
  void forward(ops::Executor& run, Pass pass, const Tensor& x, const Tensor& delta, const Tensor& sum, Buffer& rstd,
               const Linear* reader, InputUse use, LinearOperand& out) const;

  /// dx = the gradient of x from `dy` [T, dim]; adds to that of the gain. dx lies in rows like x.
  void backward(ops::Executor& run, const Tensor& dy, const NormRows& x, const Buffer& rstd, const NormRows& dx) const;
  /// The same plus `residual` [T, dim], the gradient that bypasses the norm, and beside dx what `below`, where there is
  /// one, wants of its output's gradient.
  void backward(ops::Executor& run, const Tensor& dy, const Tensor& x, const Buffer& rstd, const Tensor& residual,
                const Linear* below, LinearOperand& dx) const;

 private:
  void prepare(ops::Executor& run, Pass pass, std::int64_t rows, Buffer& rstd, const Linear* reader, InputUse use,
               LinearOperand& out, ops::RmsNormForward& op) const;

  std::string name_;
  std::int64_t dim_;
  float eps_;
  Slab& slab_;
  std::size_t place_;
};

}  // namespace octet
