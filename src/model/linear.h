// A linear layer Y = X W^T in the precision that its recipe gives it: which codes its three products read, who makes
// them, and how long they live.
#pragma once

#include <string>

#include "model/parameters.h"
#include "model/precision.h"
#include "ops/executor.h"

namespace octet {

/// FP8 codes of a matrix with their inverse scales. Empty where the consumer computes in bf16.
struct Codes {
  Buffer codes;          // [outer, contraction] bytes
  Buffer scale_inverse;  // [1] or [outer] f32
  ops::ScaleAxis axis = ops::ScaleAxis::none;

  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(codes); }
  [[nodiscard]] ops::GemmOperand operand() const;
};

/// How long a weight's codes live: made once per optimizer step, or at each use to save memory.
enum class WeightCodes : std::uint8_t { cached, per_use };

/// Counts what casts did to their inputs, over all layers that share it.
struct CastCounts {
  Buffer saturated_and_overflowed;  // [1, 2] u64, added up by CastStatistics
  std::uint64_t elements = 0;

  [[nodiscard]] std::uint64_t saturated() const { return saturated_and_overflowed.ptr<std::uint64_t>()[0]; }
  [[nodiscard]] std::uint64_t overflowed() const { return saturated_and_overflowed.ptr<std::uint64_t>()[1]; }
};

class Linear {
 public:
  /// `k` columns in, `n` rows of W out.
  Linear(std::string name, std::int64_t n, std::int64_t k, const LinearPrecision& precision, WeightCodes weight_codes)
      : name_(std::move(name)), n_(n), k_(k), precision_(precision), weight_codes_(weight_codes) {}

  void bind(const ParameterView& view) { parameter_ = view; }
  /// Persistent memory for cached weight codes.
  void allocate(Memory& memory);
  /// Makes the cached codes of the current weight: after each optimizer step.
  void cast_weight(ops::Executor& run);

  /// Codes that the producer of this layer's input [tokens, k] leaves beside it; empty where a separate pass makes them
  /// or none are needed.
  [[nodiscard]] Codes input_codes(Memory& memory, std::int64_t tokens) const;
  /// The same for the gradient [tokens, n] of this layer's output.
  [[nodiscard]] Codes gradient_codes(Memory& memory, std::int64_t tokens) const;
  /// What to hand to the producer: unused where `codes` is empty.
  [[nodiscard]] ops::RowCodes producer_input(const Codes& codes) const;
  [[nodiscard]] ops::RowCodes producer_gradient(const Codes& codes) const;

  /// y [tokens, n] bf16 = x W^T. `codes` of x as its producer left them, or empty.
  void forward(ops::Executor& run, const Tensor& x, Codes& codes, const Tensor& y) const;
  /// dx [tokens, k] bf16 = dy W, and the weight's gradient = dy^T x, or += with `accumulate`. `codes` of dy as its
  /// producer left them, or empty.
  void backward(ops::Executor& run, const Tensor& x, const Tensor& dy, Codes& codes, const Tensor& dx,
                bool accumulate) const;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::int64_t n() const { return n_; }
  [[nodiscard]] std::int64_t k() const { return k_; }
  [[nodiscard]] const LinearPrecision& precision() const { return precision_; }
  /// From here on each activation and gradient cast of this layer is counted.
  void watch(CastCounts* counts) { counts_ = counts; }

 private:
  enum class Layout : std::uint8_t { as_stored, transposed };

  [[nodiscard]] Codes make_codes(Memory& memory, std::string_view what, const fp8::Operand& operand, std::int64_t outer,
                                 std::int64_t contraction) const;
  [[nodiscard]] Codes quantize(ops::Executor& run, std::string_view what, const fp8::Operand& operand, const Tensor& x,
                               Layout layout) const;
  void fill(ops::Executor& run, const Codes& codes, const fp8::Operand& operand, const Tensor& x, Layout layout) const;
  [[nodiscard]] ops::RowCodes producer(const Codes& codes, const fp8::Operand& operand) const;
  void count(ops::Executor& run, const Tensor& x, const Codes& codes, const fp8::Operand& operand) const;
  void dgrad(ops::Executor& run, const Tensor& dy, Codes& codes, const Tensor& dx) const;
  void wgrad(ops::Executor& run, const Tensor& x, const Tensor& dy, bool accumulate) const;

  std::string name_;
  std::int64_t n_, k_;
  LinearPrecision precision_;
  WeightCodes weight_codes_;
  ParameterView parameter_;
  Codes forward_codes_;  // of W [n, k]
  Codes dgrad_codes_;    // of W^T [k, n]
  CastCounts* counts_ = nullptr;
};

}  // namespace octet
