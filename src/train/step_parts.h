// The ops of a step beside the model's: tokens of later micro-batches, the gradient's norm, the optimizer.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "io/config.h"
#include "model/parameters.h"
#include "ops/executor.h"
#include "train/parameter_groups.h"

namespace octet {

/// Tokens i32 [micro-batches * `rows`, seq_len]: those of micro-batch `index` go to where the first's lie.
void bring_tokens(ops::Executor& run, const Tensor& tokens, std::int64_t index, std::int64_t rows);

/// Adds the squares of all gradients to `sum`, [1] f64.
void sum_gradient_squares(ops::Executor& run, const Parameters& parameters, double* sum);

/// AdamW on each parameter, slab by slab, whose gradients then end. `groups` as assign_parameter_groups() returns them.
/// Before slab i changes, `wait(i)` is called, where there is one.
void update_parameters(ops::Executor& run, Parameters& parameters,
                       const std::vector<std::vector<ParameterGroup>>& groups, const Config::Optimizer& adam,
                       const ops::StepScalars* scalars, const std::function<void(std::size_t slab)>& wait = {});

}  // namespace octet
