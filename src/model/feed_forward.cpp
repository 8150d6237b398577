#include "model/feed_forward.h"

#include <fmt/format.h>

namespace octet {

FeedForward::FeedForward(const std::string& name, std::int64_t dim, std::int64_t ffn_dim, double init_std,
                         double depth_std, std::int64_t tokens, SavedInput saved_input, PrecisionPlan& precision,
                         const ModelOptions& options, Slab& slab)
    : name_(name),
      dim_(dim),
      ffn_dim_(ffn_dim),
      saving_(options.saving),
      w13_(
          make_linear(name + ".w13", 2 * ffn_dim, dim,
                      {tokens, init_std, saved_input, {{name + ".w1.weight", ffn_dim}, {name + ".w3.weight", ffn_dim}}},
                      precision, options, slab)),
      w2_(make_linear(name + ".w2", dim, ffn_dim, {tokens, depth_std, saving_.inputs}, precision, options, slab)) {}

void FeedForward::allocate(Memory& memory) {
  w13_.allocate(memory);
  w2_.allocate(memory);
}

void FeedForward::measure_weights(ops::Executor& run) const {
  w13_.layer.measure_weight(run);
  w2_.layer.measure_weight(run);
}

void FeedForward::cast_weights(ops::Executor& run) const {
  w13_.layer.cast_weight(run);
  w2_.layer.cast_weight(run);
}

InputUse FeedForward::first_use(Pass pass) const {
  return input_use(pass, saving_.recompute.norm, saving_.recompute.gate_up);
}

InputUse FeedForward::activated_use(Pass pass) const {
  return input_use(pass, saving_.recompute.swiglu, false);
}

// ---- forward --------------------------------------------------------------------------------------------------------

Buffer FeedForward::forward(ops::Executor& run, Pass pass, Saved& saved) const {
  project_gate_up(run, pass, saved);
  activate(run, pass, saved);
  Buffer delta = activation(run.memory(), "delta", saved.activated.values.tensor().rows(), dim_);
  w2_.layer.forward(run, saved.activated, delta.tensor(), activated_use(pass));
  return delta;
}

void FeedForward::make_again(ops::Executor& run, Saved& saved) const {
  if (saving_.recompute.gate_up) project_gate_up(run, Pass::again, saved);
  if (saving_.recompute.swiglu) activate(run, Pass::again, saved);
}

void FeedForward::project_gate_up(ops::Executor& run, Pass pass, Saved& saved) const {
  saved.gate_up = activation(run.memory(), "gate_up", saved.in.values.tensor().rows(), 2 * ffn_dim_);
  w13_.layer.forward(run, saved.in, saved.gate_up.tensor(), first_use(pass));
}

void FeedForward::activate(ops::Executor& run, Pass pass, Saved& saved) const {
  const std::int64_t tokens = saved.gate_up.tensor().rows();
  saved.activated.values = activation(run.memory(), "activated", tokens, ffn_dim_);
  ops::RowCodes rows;
  ops::ColumnMaxima columns;
  if (pass != Pass::again) {
    w2_.layer.expect_input(run.memory(), tokens, activated_use(pass), saved.activated);
    rows = w2_.layer.input_rows(saved.activated);
    columns = Linear::columns(saved.activated);
  }
  run(ops::SwigluForward{saved.gate_up.ptr<bf16>(), saved.activated.values.ptr<bf16>(), rows, columns, tokens,
                         ffn_dim_});
  if (pass == Pass::inference || (pass == Pass::training && saving_.recompute.gate_up)) saved.gate_up.reset();
  run.observe(name_ + ".activated", saved.activated.values.tensor());
}

// ---- backward -------------------------------------------------------------------------------------------------------

/// The gradient takes the place of gate_up.
Buffer FeedForward::backward(ops::Executor& run, LinearOperand& ddelta, Saved& saved, bool accumulate) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = saved.gate_up.tensor().rows();
  Buffer dactivated = activation(memory, "dactivated", tokens, ffn_dim_);
  w2_.layer.backward(run, saved.activated, ddelta, dactivated.tensor(), w2_.gradient(), accumulate);
  LinearOperand dgate_up{.values = std::move(saved.gate_up)};
  w13_.layer.expect_gradient(memory, tokens, dgate_up);
  auto* place = dgate_up.values.ptr<bf16>();
  run(ops::SwigluBackward{place, dactivated.ptr<bf16>(), place, w13_.layer.gradient_rows(dgate_up),
                          Linear::columns(dgate_up), tokens, ffn_dim_});
  dactivated.reset();
  run.observe(name_ + ".gate_up_gradient", dgate_up.values.tensor());
  Buffer din = activation(memory, "din", tokens, dim_);
  w13_.layer.backward(run, saved.in, dgate_up, din.tensor(), w13_.gradient(), accumulate);
  return din;
}

Buffer FeedForward::activation(Memory& memory, std::string_view what, std::int64_t tokens, std::int64_t cols) const {
  return memory.allocate(fmt::format("{}.{}", name_, what), DType::bf16, tokens, cols, MemoryClass::activations);
}

}  // namespace octet
