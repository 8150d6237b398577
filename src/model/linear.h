// A linear layer Y = X W^T in the precision that its recipe gives it: which codes its three products read, who makes
// them, and how long they live.
#pragma once

#include <string>

#include "model/layer_shadow.h"
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

/// The input X or the output gradient dY of a layer, [T, C], and what is known of it besides its values.
struct LinearOperand {
  Buffer values = {};       // [T, C] bf16; empty once only codes are read, or until it is made again
  Codes rows = {};          // [T, C]: of the product over C
  Codes columns = {};       // [C, T]: of the product over T
  Buffer row_amax = {};     // [1, T] bf16, where codes by row will be made again
  Buffer column_amax = {};  // [1, C] bf16
};

/// How long a weight's codes live: made once per optimizer step, or at each use to save memory; or once, those of the
/// forward product alone, where nothing is trained.
enum class WeightCodes : std::uint8_t { cached, per_use, forward_only };

/// In which form an input waits for wgrad. Codes are those that wgrad would make of the bf16 values: same bits, half
/// the bytes. Where wgrad reads bf16, so does what is saved.
enum class SavedInput : std::uint8_t { codes, bf16 };

/// What becomes of a layer's input after the forward product.
enum class InputUse : std::uint8_t {
  inference,          ///< nothing stays
  saved,              ///< stays for wgrad, as SavedInput says
  remade,             ///< its maxima stay; the values are made again in backward, for wgrad
  remade_for_product  ///< the same, for wgrad and the forward product
};

/// Counts what casts did to their inputs, over all layers that share it.
struct CastCounts {
  Buffer counts;  // [1, 3] u64, added up by CastStatistics: saturated, overflowed, underflowed
  std::uint64_t elements = 0;

  [[nodiscard]] std::uint64_t saturated() const { return counts.ptr<std::uint64_t>()[0]; }
  [[nodiscard]] std::uint64_t overflowed() const { return counts.ptr<std::uint64_t>()[1]; }
};

class Linear {
 public:
  /// `k` columns in, `n` rows of W out.
  Linear(std::string name, std::int64_t n, std::int64_t k, const LinearPrecision& precision, WeightCodes weight_codes,
         SavedInput saved_input)
      : name_(std::move(name)),
        n_(n),
        k_(k),
        own_precision_(precision),
        precision_(precision),
        weight_codes_(weight_codes),
        saved_input_(saved_input) {}

  void bind(const ParameterView& view) { parameter_ = view; }
  /// Persistent memory for cached weight codes.
  void allocate(Memory& memory);
  /// Measures a weight that the optimizer has not just written: a new or loaded one.
  void measure_weight(ops::Executor& run) const;
  /// Makes the cached codes of the measured weight: after each optimizer step.
  void cast_weight(ops::Executor& run) const;

  /// Room for what a producer of this layer's input [tokens, k] leaves beside its values; nothing where none is needed.
  void expect_input(Memory& memory, std::int64_t tokens, InputUse use, LinearOperand& input) const;
  /// The same for the gradient [tokens, n] of this layer's output.
  void expect_gradient(Memory& memory, std::int64_t tokens, LinearOperand& gradient) const;
  /// Whether dgrad and wgrad both read codes of this gradient under scales by row, hence nobody its values: a producer
  /// that also makes the transposed codes need not store them.
  [[nodiscard]] bool reads_gradient_as_codes() const;
  /// Room for those transposed codes of a gradient whose maxima are known, and what to hand to the op that makes them.
  [[nodiscard]] ops::ColumnCodes expect_gradient_columns(Memory& memory, LinearOperand& gradient) const;
  /// The same of the input: whether the forward product and wgrad both read codes of it under scales by row. wgrad's
  /// may then be made as late as in backward.
  [[nodiscard]] bool reads_input_as_codes() const;
  /// Room for them, of an input [tokens, k] whose values are gone.
  [[nodiscard]] ops::ColumnCodes expect_input_columns(Memory& memory, std::int64_t tokens, LinearOperand& input) const;
  /// What to hand to the producer.
  [[nodiscard]] ops::RowCodes input_rows(const LinearOperand& input) const;
  [[nodiscard]] ops::RowCodes gradient_rows(const LinearOperand& gradient) const;
  [[nodiscard]] static ops::ColumnMaxima columns(const LinearOperand& operand);

  /// Stands in for the producer of values that come from an op that leaves nothing beside them: attention, a chunk.
  void cast_input(ops::Executor& run, InputUse use, LinearOperand& input) const;
  void cast_gradient(ops::Executor& run, LinearOperand& gradient) const;

  /// y [tokens, n] bf16 = x W^T. Leaves of `x` what `use` says.
  void forward(ops::Executor& run, LinearOperand& x, const Tensor& y, InputUse use) const;
  /// dx [tokens, k] bf16 = dy W. Drops the codes that it read.
  void dgrad(ops::Executor& run, LinearOperand& dy, const Tensor& dx) const;
  /// dweight [n, k] = dy^T x, or += with `accumulate`, which asks for f32; without, it may be bf16, to which the fp32
  /// sum is rounded once. Drops x and the codes of dy.
  void wgrad(ops::Executor& run, LinearOperand& x, LinearOperand& dy, const Tensor& dweight, bool accumulate) const;
  /// Both, in this order.
  void backward(ops::Executor& run, LinearOperand& x, LinearOperand& dy, const Tensor& dx, const Tensor& dweight,
                bool accumulate) const;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::int64_t n() const { return n_; }
  [[nodiscard]] std::int64_t k() const { return k_; }
  [[nodiscard]] const LinearPrecision& precision() const { return own_precision_; }
  /// From here on each activation and gradient cast of this layer is counted.
  void watch(CastCounts* counts) { counts_ = counts; }
  /// From here on until null is given: `shadow` sees what forward and backward compute.
  void report_to(LayerShadow* shadow) { shadow_ = shadow; }
  /// Whether either of them looks at the values that are cast.
  [[nodiscard]] bool is_watched() const { return counts_ != nullptr || shadow_ != nullptr; }
  /// From here on forward and backward leave codes aside, as the bf16 recipe does, or not. Cached codes stay.
  void compute_in_bf16(bool in_bf16);

 private:
  [[nodiscard]] bool saves_codes(InputUse use) const;
  [[nodiscard]] Codes make_codes(Memory& memory, std::string_view what, const fp8::Operand& operand, std::int64_t outer,
                                 std::int64_t contraction) const;
  [[nodiscard]] Buffer make_amax(Memory& memory, std::string_view what, std::int64_t count) const;
  [[nodiscard]] ops::RowCodes producer(const LinearOperand& operand, const fp8::Operand& form) const;
  void quantize(ops::Executor& run, const fp8::Operand& form, const LinearOperand& operand) const;
  void make_rows(ops::Executor& run, std::string_view what, const fp8::Operand& form, bool columns_too,
                 LinearOperand& operand) const;
  void make_columns(ops::Executor& run, std::string_view what, const fp8::Operand& form, LinearOperand& operand) const;
  void cast_weight_into(ops::Executor& run, const Codes* forward, const Codes* dgrad) const;
  [[nodiscard]] Codes forward_weight_codes(Memory& memory) const;
  [[nodiscard]] Codes dgrad_weight_codes(Memory& memory) const;
  void count(ops::Executor& run, LayerCast cast, const Tensor& x, const Codes& codes, const fp8::Operand& form) const;
  [[nodiscard]] ops::ColumnCodes expect_columns(Memory& memory, std::string_view what, const fp8::Operand& form,
                                                std::int64_t tokens, std::int64_t cols, LinearOperand& operand) const;

  std::string name_;
  std::int64_t n_, k_;
  LinearPrecision own_precision_;
  LinearPrecision precision_;  // that it computes in now
  WeightCodes weight_codes_;
  SavedInput saved_input_;
  ParameterView parameter_;
  Codes forward_codes_;  // of W [n, k]
  Codes dgrad_codes_;    // of W^T [k, n]
  CastCounts* counts_ = nullptr;
  LayerShadow* shadow_ = nullptr;
};

}  // namespace octet
