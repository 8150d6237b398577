#include "train/step_parts.h"

#include "core/random.h"

namespace octet {
namespace {

ops::AdamW update_of(const Slab& slab, std::size_t index, const ParameterGroup& group, const Config::Optimizer& adam,
                     const ops::StepScalars* scalars) {
  const Parameter& parameter = slab.parameters()[index];
  const ParameterView view = slab.view(index);
  const Tensor gradient = slab.gradient(index);
  const Tensor m = part_of(slab.first_moment(), parameter);
  const Tensor v = part_of(slab.second_moment(), parameter);
  return {.master = slab.has_master() ? part_of(slab.master(), parameter).ptr<float>() : nullptr,
          .weight = view.weight.ptr<bf16>(),
          .gradient = gradient.raw(),
          .m = m.raw(),
          .v = v.raw(),
          .scalars = scalars,
          .row_amax = parameter.measured ? view.row_amax.ptr<bf16>() : nullptr,
          .column_amax = parameter.measured ? view.column_amax.ptr<bf16>() : nullptr,
          .rows = parameter.rows / parameter.matrices,
          .cols = parameter.cols,
          .stream = stream_of(parameter.name),
          .gradients = gradient.dtype(),
          .moments = m.dtype(),
          .has_master = slab.has_master(),
          .measures = parameter.measured,
          .beta1 = static_cast<float>(adam.beta1),
          .beta2 = static_cast<float>(adam.beta2),
          .eps = static_cast<float>(adam.eps),
          .weight_decay = static_cast<float>(group.weight_decay),
          .lr_scale = static_cast<float>(group.lr_scale),
          .matrices = parameter.matrices};
}

}  // namespace

void bring_tokens(ops::Executor& run, const Tensor& tokens, std::int64_t index, std::int64_t rows) {
  const Tensor from = tokens.row_range(index * rows, rows);
  run(ops::Copy{from.raw(), tokens.raw(), static_cast<std::int64_t>(from.bytes())});
}

void sum_gradient_squares(ops::Executor& run, const Parameters& parameters, double* sum) {
  for (const Slab& slab : parameters.slabs()) {
    for (const Tensor& gradients : slab.gradients()) {
      run(ops::SumOfSquares{gradients.raw(), sum, gradients.numel(), gradients.dtype()});
    }
  }
}

void update_parameters(ops::Executor& run, Parameters& parameters,
                       const std::vector<std::vector<ParameterGroup>>& groups, const Config::Optimizer& adam,
                       const ops::StepScalars* scalars, const std::function<void(std::size_t slab)>& wait) {
  auto& slabs = parameters.slabs();
  for (std::size_t slab = 0; slab < slabs.size(); ++slab) {
    if (wait) wait(slab);
    const auto span = run.layer(slabs[slab].name());
    for (std::size_t i = 0; i < groups[slab].size(); ++i) {
      run(update_of(slabs[slab], i, groups[slab][i], adam, scalars));
    }
    slabs[slab].end_gradients();
  }
}

}  // namespace octet
