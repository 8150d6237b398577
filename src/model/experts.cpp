#include "model/experts.h"

#include <fmt/format.h>

namespace octet {

Experts::Experts(const MoeConfig& config, const std::string& name, std::int64_t dim, double init_std, double depth_std,
                 std::int64_t tokens, PrecisionPlan& precision, const ModelOptions& options, Slab& slab)
    : config_(config),
      name_(name),
      dim_(dim),
      saving_(options.saving),
      w13_(name + ".w13", config.rule.experts, 2 * config.ffn_dim, dim, tokens * config.rule.top_k, init_std,
           {{"w1.weight", config.ffn_dim}, {"w3.weight", config.ffn_dim}}, precision, options, slab),
      w2_(name + ".w2", config.rule.experts, dim, config.ffn_dim, tokens * config.rule.top_k, depth_std,
          {{"w2.weight", dim}}, precision, options, slab) {}

void Experts::allocate(Memory& memory) {
  w13_.allocate(memory);
  w2_.allocate(memory);
}

void Experts::measure_weights(ops::Executor& run) const {
  w13_.measure_weight(run);
  w2_.measure_weight(run);
}

void Experts::cast_weights(ops::Executor& run) const {
  w13_.cast_weight(run);
  w2_.cast_weight(run);
}

ops::GemmOperand Experts::Rows::by_rows() const {
  if (!codes) return {.data = values.ptr<bf16>()};
  return {codes.tensor().raw(), code_scales.ptr<float>(), codes.tensor().dtype(), ops::ScaleAxis::row, false};
}

ops::GemmOperand Experts::Rows::by_columns() const {
  if (!columns) return {.data = values.ptr<bf16>(), .transposed = true};
  return {columns.tensor().raw(), column_scales.ptr<float>(), columns.tensor().dtype(), ops::ScaleAxis::row, false};
}

// ---- forward --------------------------------------------------------------------------------------------------------

Buffer Experts::forward(ops::Executor& run, Pass pass, const Tensor& x, const Router::Routing& routing,
                        Saved& saved) const {
  project_gate_up(run, pass, x, routing, saved);
  const Rows activated = activate(run, pass, routing, saved);
  if (pass == Pass::inference || saving_.recompute.gate_up) saved.gate_up.reset();
  Buffer y = routed(run.memory(), "routed", routing, dim_);
  w2_.forward(run, activated.by_rows(), routing.groups(), y.tensor());
  return y;
}

void Experts::make_again(ops::Executor& run, const Tensor& x, const Router::Routing& routing, Saved& saved) const {
  if (saving_.recompute.gate_up) project_gate_up(run, Pass::again, x, routing, saved);
}

void Experts::project_gate_up(ops::Executor& run, Pass pass, const Tensor& x, const Router::Routing& routing,
                              Saved& saved) const {
  Memory& memory = run.memory();
  const ops::Groups groups = routing.groups();
  Rows in;
  ops::RowCodes codes;
  ops::GroupMaxima columns;
  const bool stored = !w13_.forward_in_fp8();
  if (stored) in.values = routed(memory, "in", routing, dim_);
  if (w13_.forward_in_fp8()) codes = expect_codes(memory, w13_, "input_codes", groups, dim_, in);
  if (w13_.wgrad_in_fp8() && pass == Pass::training) {
    columns = expect_maxima(memory, w13_, "input_column_amax", dim_, saved.in_amax);
  }
  run(ops::GatherRows{x.ptr<bf16>(), routing.choice_of_row.ptr<std::int32_t>(), groups,
                      stored ? in.values.ptr<bf16>() : nullptr, codes, columns, config_.rule.top_k, dim_, stored});
  saved.gate_up = routed(memory, "gate_up", routing, 2 * config_.ffn_dim);
  w13_.forward(run, in.by_rows(), groups, saved.gate_up.tensor());
}

Experts::Rows Experts::activate(ops::Executor& run, Pass pass, const Router::Routing& routing, Saved& saved) const {
  Memory& memory = run.memory();
  const ops::Groups groups = routing.groups();
  const std::int64_t ffn = config_.ffn_dim;
  Rows activated;
  ops::RowCodes codes;
  ops::GroupMaxima columns;
  const bool stored = !w2_.forward_in_fp8();
  if (stored) activated.values = routed(memory, "activated", routing, ffn);
  if (w2_.forward_in_fp8()) codes = expect_codes(memory, w2_, "input_codes", groups, ffn, activated);
  if (w2_.wgrad_in_fp8() && pass == Pass::training) {
    columns = expect_maxima(memory, w2_, "input_column_amax", ffn, saved.activated_amax);
  }
  run(ops::GroupedSwigluForward{saved.gate_up.ptr<bf16>(), routing.weights.ptr<float>(),
                                routing.choice_of_row.ptr<std::int32_t>(), groups,
                                stored ? activated.values.ptr<bf16>() : nullptr, codes, columns, ffn, stored});
  return activated;
}

// ---- backward -------------------------------------------------------------------------------------------------------

Experts::Gradients Experts::backward(ops::Executor& run, const Tensor& x, const Tensor& dout,
                                     const Router::Routing& routing, Saved& saved, bool accumulate) const {
  Memory& memory = run.memory();
  const ops::Groups groups = routing.groups();
  Gradients gradients;
  gradients.dweights =
      memory.allocate(name_ + ".dweights", DType::f32, x.rows(), config_.rule.top_k, MemoryClass::activations);
  Rows dy = gather_gradient(run, dout, routing);
  Buffer dactivated = routed(memory, "dactivated", routing, config_.ffn_dim);
  w2_.dgrad(run, dy.by_rows(), groups, dactivated.tensor());
  Rows activated = activate_again(run, routing, saved);
  Rows dgate_up = swiglu_backward(run, dactivated.tensor(), routing, saved, gradients.dweights.tensor(), activated);
  dactivated.reset();
  w2_.wgrad(run, dy.by_columns(), activated.by_columns(), groups, accumulate);
  dy = {};
  activated = {};

  gradients.dx = routed(memory, "dx", routing, dim_);
  w13_.dgrad(run, dgate_up.by_rows(), groups, gradients.dx.tensor());
  const Rows in = gather_again(run, x, routing, saved);
  w13_.wgrad(run, dgate_up.by_columns(), in.by_columns(), groups, accumulate);
  saved = {};
  return gradients;
}

/// Each routed row's gradient of w2's output: that of its token.
Experts::Rows Experts::gather_gradient(ops::Executor& run, const Tensor& dout, const Router::Routing& routing) const {
  Memory& memory = run.memory();
  const ops::Groups groups = routing.groups();
  const auto* choices = routing.choice_of_row.ptr<std::int32_t>();
  const std::int64_t top_k = config_.rule.top_k;
  Rows dy;
  ops::RowCodes codes;
  ops::GroupMaxima columns;
  const bool stored = !w2_.dgrad_in_fp8() || !w2_.wgrad_in_fp8();
  if (stored) dy.values = routed(memory, "dy", routing, dim_);
  if (w2_.dgrad_in_fp8()) codes = expect_codes(memory, w2_, "gradient_codes", groups, dim_, dy);
  if (w2_.wgrad_in_fp8()) columns = expect_maxima(memory, w2_, "gradient_column_amax", dim_, dy.amax);
  run(ops::GatherRows{dout.ptr<bf16>(), choices, groups, stored ? dy.values.ptr<bf16>() : nullptr, codes, columns,
                      top_k, dim_, stored});
  if (w2_.wgrad_in_fp8()) {
    const ops::GroupCodes transposed =
        expect_columns(memory, w2_, "gradient_codes_transposed", groups, dim_, dy.amax.tensor(), dy);
    run(ops::GatherRowsCast{dout.ptr<bf16>(), choices, groups, transposed, top_k, dim_});
  }
  return dy;
}

/// w2's input in bf16 where its wgrad reads that; codes of it come with those of the gradient.
Experts::Rows Experts::activate_again(ops::Executor& run, const Router::Routing& routing, const Saved& saved) const {
  Rows activated;
  if (w2_.wgrad_in_fp8()) return activated;
  activated.values = routed(run.memory(), "activated", routing, config_.ffn_dim);
  run(ops::GroupedSwigluForward{saved.gate_up.ptr<bf16>(),
                                routing.weights.ptr<float>(),
                                routing.choice_of_row.ptr<std::int32_t>(),
                                routing.groups(),
                                activated.values.ptr<bf16>(),
                                {},
                                {},
                                config_.ffn_dim,
                                true});
  return activated;
}

/// The gradient of gate_up, which ends: it is the place of a bf16 result unless a cast reads it once more, for the
/// transposed codes of that result and of w2's input.
Experts::Rows Experts::swiglu_backward(ops::Executor& run, const Tensor& dactivated, const Router::Routing& routing,
                                       Saved& saved, const Tensor& dweights, Rows& activated) const {
  Memory& memory = run.memory();
  const ops::Groups groups = routing.groups();
  const std::int64_t ffn = config_.ffn_dim;
  const auto* weights = routing.weights.ptr<float>();
  const auto* choices = routing.choice_of_row.ptr<std::int32_t>();
  const bool casts = w13_.wgrad_in_fp8() || w2_.wgrad_in_fp8();
  const bool stored = !w13_.dgrad_in_fp8() || !w13_.wgrad_in_fp8();
  const Tensor gate_up = saved.gate_up.tensor();
  Rows gradient;
  ops::RowCodes codes;
  ops::GroupMaxima columns;
  if (stored) gradient.values = casts ? routed(memory, "dgate_up", routing, 2 * ffn) : std::move(saved.gate_up);
  if (w13_.dgrad_in_fp8()) codes = expect_codes(memory, w13_, "gradient_codes", groups, 2 * ffn, gradient);
  if (w13_.wgrad_in_fp8()) columns = expect_maxima(memory, w13_, "gradient_column_amax", 2 * ffn, gradient.amax);
  run(ops::GroupedSwigluBackward{gate_up.ptr<bf16>(), dactivated.ptr<bf16>(), weights, choices, groups,
                                 stored ? gradient.values.ptr<bf16>() : nullptr, dweights.ptr<float>(), codes, columns,
                                 ffn, stored});
  if (casts) {
    ops::GroupCodes transposed;
    ops::GroupCodes of_input;
    if (w13_.wgrad_in_fp8()) {
      transposed =
          expect_columns(memory, w13_, "gradient_codes_transposed", groups, 2 * ffn, gradient.amax.tensor(), gradient);
    }
    if (w2_.wgrad_in_fp8()) {
      of_input =
          expect_columns(memory, w2_, "input_codes_transposed", groups, ffn, saved.activated_amax.tensor(), activated);
    }
    run(ops::GroupedSwigluCast{gate_up.ptr<bf16>(), dactivated.ptr<bf16>(), weights, choices, groups, transposed,
                               of_input, ffn});
  }
  saved.gate_up.reset();
  return gradient;
}

/// w13's input as its wgrad reads it.
Experts::Rows Experts::gather_again(ops::Executor& run, const Tensor& x, const Router::Routing& routing,
                                    const Saved& saved) const {
  Memory& memory = run.memory();
  const ops::Groups groups = routing.groups();
  const auto* choices = routing.choice_of_row.ptr<std::int32_t>();
  const std::int64_t top_k = config_.rule.top_k;
  Rows in;
  if (w13_.wgrad_in_fp8()) {
    const ops::GroupCodes transposed =
        expect_columns(memory, w13_, "input_codes_transposed", groups, dim_, saved.in_amax.tensor(), in);
    run(ops::GatherRowsCast{x.ptr<bf16>(), choices, groups, transposed, top_k, dim_});
  } else {
    in.values = routed(memory, "in", routing, dim_);
    run(ops::GatherRows{x.ptr<bf16>(), choices, groups, in.values.ptr<bf16>(), {}, {}, top_k, dim_, true});
  }
  return in;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

ops::RowCodes Experts::expect_codes(Memory& memory, const GroupedLinear& reader, std::string_view what,
                                    const ops::Groups& groups, std::int64_t cols, Rows& rows) const {
  const std::string piece = fmt::format("{}.{}", reader.name(), what);
  rows.codes = memory.allocate(piece, dtype_of(reader.rule().format()), groups.rows, cols, MemoryClass::fp8_codes);
  rows.code_scales = memory.allocate(piece + "_scales", DType::f32, 1, groups.rows, MemoryClass::fp8_codes);
  return {static_cast<std::uint8_t*>(rows.codes.tensor().raw()), rows.code_scales.ptr<float>(), nullptr, reader.rule(),
          true};
}

ops::GroupMaxima Experts::expect_maxima(Memory& memory, const GroupedLinear& reader, std::string_view what,
                                        std::int64_t cols, Buffer& amax) const {
  amax = memory.allocate(fmt::format("{}.{}", reader.name(), what), DType::bf16, config_.rule.experts, cols,
                         MemoryClass::fp8_codes);
  return {amax.ptr<bf16>(), true};
}

/// Of any split of the rows: Mp columns at most.
ops::GroupCodes Experts::expect_columns(Memory& memory, const GroupedLinear& reader, std::string_view what,
                                        const ops::Groups& groups, std::int64_t cols, const Tensor& amax,
                                        Rows& rows) const {
  const std::string piece = fmt::format("{}.{}", reader.name(), what);
  rows.columns = memory.allocate(piece, dtype_of(reader.rule().format()), cols,
                                 ops::padded_rows(groups.rows, groups.experts), MemoryClass::fp8_codes);
  rows.column_scales = memory.allocate(piece + "_scales", DType::f32, groups.experts, cols, MemoryClass::fp8_codes);
  return {static_cast<std::uint8_t*>(rows.columns.tensor().raw()), rows.column_scales.ptr<float>(), amax.ptr<bf16>(),
          reader.rule(), true};
}

Buffer Experts::routed(Memory& memory, std::string_view what, const Router::Routing& routing, std::int64_t cols) const {
  return memory.allocate(fmt::format("{}.{}", name_, what), DType::bf16, routing.choice_of_row.tensor().cols(), cols,
                         MemoryClass::activations);
}

}  // namespace octet
