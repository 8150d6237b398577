// The ops of one training step, as the model asks for them: what octet bench times one by one.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "io/config.h"
#include "ops/backend.h"
#include "ops/op_shapes.h"

namespace octet::cli {

/// What an op does beyond its sizes: "row codes, column maxima".
template <typename Op>
[[nodiscard]] std::string wishes_of(const Op& op) {
  std::string wishes = ops::types_of(op);
  const auto add = [&](bool wanted, std::string_view wish) {
    if (!wanted) return;
    if (!wishes.empty()) wishes += ", ";
    wishes += wish;
  };
  if constexpr (requires { op.a.transposed; }) {
    add(op.a.transposed, "A transposed");
    add(op.b.transposed, "B transposed");
    if constexpr (requires { op.accumulate; }) add(op.accumulate, "added to");
    add(op.is_fp8() && op.a.axis == fp8::ScaleAxis::tensor, "one scale");
    add(op.is_fp8(), op.accumulation == fp8::Accumulation::fast ? "fast accumulation" : "full accumulation");
  }
  if constexpr (requires { op.has_delta; }) add(op.has_delta, "delta");
  if constexpr (requires { op.has_residual; }) add(op.has_residual, "residual");
  if constexpr (requires { op.inverse; }) add(op.inverse, "inverse");
  if constexpr (requires { op.gradient_scale; }) add(op.gradient, "gradient");
  if constexpr (requires { op.codes.wanted; }) add(op.codes.wanted, "row codes");
  if constexpr (requires { op.columns.wanted; }) add(op.columns.wanted, "column maxima");
  if constexpr (requires { op.stored; }) add(!op.stored, "not stored");
  if constexpr (requires { op.as_stored; }) {
    add(op.as_stored.wanted(), "as stored");
    add(op.transposed.wanted(), "transposed");
    add(op.transposed.axis == fp8::ScaleAxis::tensor || op.as_stored.axis == fp8::ScaleAxis::tensor, "one scale");
  }
  if constexpr (requires { op.dtype; }) add(true, name(op.dtype));
  if constexpr (requires { op.measures; }) {
    add(op.has_master, "master");
    add(op.gradients == DType::bf16, "bf16 gradients");
    add(op.moments == DType::bf16, "bf16 moments");
    add(op.measures, "maxima");
  }
  return wishes;
}

/// "rows 8192, cols 4096; row codes": two ops with the same text are the same work.
template <typename Op>
[[nodiscard]] std::string describe(const Op& op) {
  std::string text;
  for (const ops::Extent& extent : ops::extents_of(op)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", extent.name, extent.value);
  }
  const std::string wishes = wishes_of(op);
  return wishes.empty() ? text : text + "; " + wishes;
}

/// An op without pointers, and how often a step runs it.
template <typename Op>
struct StepOp {
  Op op;
  std::string text;  ///< of `describe`
  std::int64_t calls = 0;
};

class StepOps {
 public:
  template <typename Op>
  void add(const Op& op, std::int64_t calls) {
    auto& known = std::get<std::vector<StepOp<Op>>>(ops_);
    const std::string text = describe(op);
    for (StepOp<Op>& each : known) {
      if (each.text == text) {
        each.calls += calls;
        return;
      }
    }
    known.push_back({op, text, calls});
  }

  template <typename Op>
  [[nodiscard]] const std::vector<StepOp<Op>>& of() const {
    return std::get<std::vector<StepOp<Op>>>(ops_);
  }

  /// visit(step_op) for each, in the order of the op table.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    std::apply(
        [&](const auto&... lists) {
          const auto all = [&](const auto& list) {
            for (const auto& each : list) visit(each);
          };
          (all(lists), ...);
        },
        ops_);
  }

 private:
  template <typename... Ops>
  using Lists = std::tuple<std::vector<StepOp<Ops>>...>;
  ops::AllOps<Lists> ops_;
};

/// All micro-batches, the gradient's norm, the optimizer and the casts of the new weights, planned for `backend`. The
/// maxima of the weights, which only the first step measures, are there with no calls.
[[nodiscard]] StepOps ops_of_step(const Config& config, const ops::Backend& backend);

}  // namespace octet::cli
