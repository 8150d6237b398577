// Operands of ops that are timed: memory of a device, filled with random numbers, as constant ones run faster.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/memory.h"
#include "ops/backend.h"

namespace octet::cli {

class Operands {
 public:
  using Index = std::int64_t;

  /// `backend` must outlive the operands.
  explicit Operands(const ops::Backend& backend) : backend_(backend) {}

  /// Tokens of each document, where an op wants packed ones.
  void set_document_length(Index length) { document_length_ = length; }

  /// Sets the pointers of an op whose sizes and wishes are set.
  void bind(ops::EmbeddingForward& op);
  void bind(ops::EmbeddingBackward& op);
  void bind(ops::RmsNormForward& op);
  void bind(ops::RmsNormForwardCast& op);  ///< under the maxima of what it makes
  void bind(ops::RmsNormBackward& op);
  void bind(ops::Rope& op);
  void bind(ops::AttentionForward& op);
  void bind(ops::AttentionBackward& op);  ///< of a forward pass
  void bind(ops::SwigluForward& op);
  void bind(ops::SwigluBackward& op);
  void bind(ops::SwigluBackwardCast& op);  ///< under the maxima of what it casts
  void bind(ops::QuantizeRows& op);
  void bind(ops::Maxima& op);
  void bind(ops::Cast& op);  ///< under the maxima of its input
  void bind(ops::Gemm& op);
  void bind(ops::CrossEntropy& op);
  void bind(ops::SumFloats& op);
  void bind(ops::Zero& op);
  void bind(ops::SumOfSquares& op);
  void bind(ops::AdamW& op);
  void bind(ops::Copy& op);

  /// Scratch for an op.
  template <typename Op>
  [[nodiscard]] ops::Workspace workspace(const Op& op) {
    const std::size_t bytes = backend_.workspace_bytes(op);
    return {room<std::byte>(static_cast<Index>(bytes)), bytes};
  }

  enum class Sign : std::uint8_t { both, positive };

  /// Zeros, for results.
  template <typename T>
  [[nodiscard]] T* room(Index count) {
    blocks_.push_back(backend_.device().allocator()(
        std::max<std::size_t>(static_cast<std::size_t>(count) * sizeof(T), Memory::kAlignment)));
    return reinterpret_cast<T*>(blocks_.back().get());
  }
  /// Of bf16 or float in (-1, 1) or (0, 1); bytes are FP8 codes of up to a third of the exponents.
  template <typename T>
  [[nodiscard]] T* random(Index count, Sign sign = Sign::both);
  template <typename T>
  [[nodiscard]] T* upload(std::span<const T> values);

  /// Gives all memory back.
  void clear() { blocks_.clear(); }

 private:
  void bind(ops::Documents& documents, const ops::AttentionShape& shape);
  void bind(ops::RowCodes& codes, Index rows, Index cols);
  void bind(ops::ColumnMaxima& columns, Index cols);
  void bind(ops::ColumnCodes& codes, const ops::ColumnMaxima& maxima, Index rows, Index cols);
  void bind(ops::CastLayout& layout, Index outer, Index contraction);
  void bind(ops::GemmOperand& side, Index outer, Index contraction);

  /// bf16 or f32.
  [[nodiscard]] void* random(DType dtype, Index count, Sign sign = Sign::both);
  [[nodiscard]] std::int32_t* tokens(Index count, Index vocab);

  const ops::Backend& backend_;
  Index document_length_ = 1;
  std::vector<std::shared_ptr<std::byte>> blocks_;
  /// What random operands are copied from, again and again: the host makes numbers slowly.
  std::map<std::pair<std::size_t, Sign>, std::shared_ptr<std::byte>> sources_;  // by the size of an element
};

}  // namespace octet::cli
