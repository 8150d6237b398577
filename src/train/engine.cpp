#include "train/engine.h"

#include <cmath>

#include "core/random.h"
#include "ops/host_access.h"
#include "train/model_setup.h"

namespace octet {
namespace {

/// Another key for each step: the fractional part of the golden ratio steps through all of them.
std::uint64_t rounding_key(std::int64_t seed, std::int64_t step) {
  return static_cast<std::uint64_t>(seed) + static_cast<std::uint64_t>(step) * 0x9E3779B97F4A7C15U;
}

Work sum(const std::map<std::string_view, ops::OpTotals>& totals) {
  Work work;
  for (const auto& [op, total] : totals) {
    work.flops += total.flops;
    work.bytes += total.bytes;
  }
  return work;
}

}  // namespace

bool StepOutcome::finite() const {
  return std::isfinite(loss) && std::isfinite(grad_norm);
}

Engine::Engine(const Config& config, std::unique_ptr<ops::Backend> backend, std::unique_ptr<Llama> model)
    : config_(config),
      shape_{config.training.batch_size, config.training.seq_len},
      backend_(std::move(backend)),
      model_(std::move(model)),
      run_(*backend_, *memory_),
      groups_(assign_parameter_groups(model_->parameters(), config.optimizer.groups,
                                      {.weight_decay = config.optimizer.weight_decay, .lr_scale = 1})) {
  if (config.precision.shadow == Config::Shadow::bf16) shadow_ = std::make_unique<Shadow>(*model_, shape_.tokens());
  plan_memory();
}

void Engine::take_persistent(Memory& memory) {
  const std::int64_t rows = shape_.batch * config_.training.accumulate;
  inputs_ = memory.allocate("inputs", DType::i32, rows, shape_.seq_len, MemoryClass::workspace);
  targets_ = memory.allocate("targets", DType::i32, rows, shape_.seq_len, MemoryClass::workspace);
  loss_sum_ = memory.allocate("loss_sum", DType::f64, 1, 1, MemoryClass::workspace);
  gradient_squares_ = memory.allocate("gradient_squares", DType::f64, 1, 1, MemoryClass::workspace);
  scalars_ = memory.allocate("step_scalars", DType::u64, 1, sizeof(ops::StepScalars) / sizeof(std::uint64_t),
                             MemoryClass::workspace);
  cast_counts_.counts = memory.allocate("cast_counts", DType::u64, 1, 3, MemoryClass::workspace);
  if (shadow_) shadow_->allocate(memory);
  model_->allocate(memory, slab_storage(config_, true));
}

/// Each program runs once against a Memory that only takes notes.
void Engine::plan_memory() {
  take_persistent(*memory_);
  run_micro_batch(0);
  const Work micro_batch = sum(run_.totals());
  run_optimizer();
  planned_work_ = sum(run_.totals());
  const auto further = static_cast<double>(config_.training.accumulate - 1);
  planned_work_.flops += further * micro_batch.flops;
  planned_work_.bytes += further * micro_batch.bytes;
  sum_gradient_squares();
  run_weight_cast();
  if (!config_.data.validation.empty()) run_validation();
  if (shadow_) run_watched_micro_batch();
  plan_ = memory_->finish();
}

void Engine::allocate() {
  auto memory = std::make_unique<Memory>(plan_, backend_->device().allocator());
  run_ = ops::Executor(*backend_, *memory);
  take_persistent(*memory);
  memory_ = std::move(memory);  // the planning Memory goes last: the buffers it gave out were just replaced
  model_->prepare(backend_->device());
  host_inputs_.resize(static_cast<std::size_t>(tokens_per_step()));
  host_targets_.resize(host_inputs_.size());
}

std::span<std::int32_t> Engine::inputs() {
  return host_inputs_;
}

std::span<std::int32_t> Engine::targets() {
  return host_targets_;
}

Batch Engine::micro_batch(std::int64_t index) const {
  const Tensor inputs = inputs_.tensor().row_range(index * shape_.batch, shape_.batch);
  const Tensor targets = targets_.tensor().row_range(index * shape_.batch, shape_.batch);
  return {shape_, inputs.ptr<std::int32_t>(), targets.ptr<std::int32_t>()};
}

float Engine::gradient_scale() const {
  return static_cast<float>(1.0 / static_cast<double>(tokens_per_step()));
}

void Engine::run_micro_batch(std::int64_t index) {
  const auto span = run_.phase("micro-batch");
  const ProgramScope program(*memory_, "train");
  model_->train(run_, micro_batch(index), gradient_scale(), index > 0, loss_sum_.ptr<double>());
}

/// The first, in place of run_micro_batch(0).
void Engine::run_watched_micro_batch() {
  const auto span = run_.phase("watched micro-batch");
  const ProgramScope program(*memory_, "watch");
  shadow_->train(run_, micro_batch(0), gradient_scale(), loss_sum_.ptr<double>());
}

/// The first `count` of inputs() and targets() to the device.
void Engine::upload_tokens(std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(std::int32_t);
  backend_->device().upload(inputs_.tensor().raw(), host_inputs_.data(), bytes);
  backend_->device().upload(targets_.tensor().raw(), host_targets_.data(), bytes);
}

void Engine::sum_gradient_squares() {
  const ProgramScope program(*memory_, "gradient_norm");
  for (const Slab& slab : model_->parameters().slabs()) {
    run_(ops::SumOfSquares{slab.gradients().ptr<float>(), gradient_squares_.ptr<double>(), slab.numel()});
  }
}

StepOutcome Engine::compute_gradients() {
  return compute_gradients(false);
}

StepOutcome Engine::compute_watched_gradients() {
  check(shadow_ != nullptr, "a watched step has a shadow");
  return compute_gradients(true);
}

StepOutcome Engine::compute_gradients(bool watched) {
  ops::Device& device = backend_->device();
  upload_tokens(tokens_per_step());
  ops::write_value(device, loss_sum_.ptr<double>(), 0.0);
  ops::write_value(device, gradient_squares_.ptr<double>(), 0.0);
  if (watched) {
    run_watched_micro_batch();
    const auto tokens = static_cast<double>(tokens_per_micro_batch());
    watched_losses_ = {shadow_->loss_sum() / tokens, ops::read_value(device, loss_sum_.ptr<double>()) / tokens};
  }
  for (std::int64_t i = watched ? 1 : 0; i < config_.training.accumulate; ++i) run_micro_batch(i);
  sum_gradient_squares();
  const auto span = run_.waiting();
  return {ops::read_value(device, loss_sum_.ptr<double>()) / static_cast<double>(tokens_per_step()),
          std::sqrt(ops::read_value(device, gradient_squares_.ptr<double>()))};
}

void Engine::run_optimizer() {
  const ProgramScope program(*memory_, "optimizer");
  const auto& slabs = model_->parameters().slabs();
  for (std::size_t slab = 0; slab < slabs.size(); ++slab) {
    const auto span = run_.layer(slabs[slab].name());
    for (std::size_t i = 0; i < groups_[slab].size(); ++i) update_parameter(slabs[slab], i, groups_[slab][i]);
  }
  model_->cast_weights(run_);
}

void Engine::update_parameter(const Slab& slab, std::size_t index, const ParameterGroup& group) {
  const Config::Optimizer& adam = config_.optimizer;
  const Parameter& parameter = slab.parameters()[index];
  const ParameterView view = slab.view(index);
  const Tensor m = part_of(slab.first_moment(), parameter);
  const Tensor v = part_of(slab.second_moment(), parameter);
  run_(ops::AdamW{.master = slab.has_master() ? part_of(slab.master(), parameter).ptr<float>() : nullptr,
                  .weight = view.weight.ptr<bf16>(),
                  .gradient = view.gradient.ptr<float>(),
                  .m = m.raw(),
                  .v = v.raw(),
                  .scalars = reinterpret_cast<const ops::StepScalars*>(scalars_.tensor().raw()),
                  .row_amax = parameter.measured ? view.row_amax.ptr<bf16>() : nullptr,
                  .column_amax = parameter.measured ? view.column_amax.ptr<bf16>() : nullptr,
                  .rows = parameter.rows,
                  .cols = parameter.cols,
                  .stream = stream_of(parameter.name),
                  .moments = m.dtype(),
                  .has_master = slab.has_master(),
                  .measures = parameter.measured,
                  .beta1 = static_cast<float>(adam.beta1),
                  .beta2 = static_cast<float>(adam.beta2),
                  .eps = static_cast<float>(adam.eps),
                  .weight_decay = static_cast<float>(group.weight_decay),
                  .lr_scale = static_cast<float>(group.lr_scale)});
}

void Engine::update(std::int64_t step, double learning_rate, double grad_norm) {
  const Config::Optimizer& adam = config_.optimizer;
  const double clip = adam.clip_norm > 0 && grad_norm > adam.clip_norm ? adam.clip_norm / grad_norm : 1.0;
  const ops::StepScalars scalars{static_cast<float>(learning_rate), static_cast<float>(clip),
                                 static_cast<float>(1.0 - std::pow(adam.beta1, static_cast<double>(step))),
                                 static_cast<float>(1.0 - std::pow(adam.beta2, static_cast<double>(step))),
                                 rounding_key(config_.training.seed, step)};
  backend_->device().upload(scalars_.tensor().raw(), &scalars, sizeof scalars);
  run_optimizer();
}

void Engine::run_validation() {
  const ProgramScope program(*memory_, "validate");
  model_->validate(run_, {shape_, inputs_.ptr<std::int32_t>(), targets_.ptr<std::int32_t>()}, loss_sum_.ptr<double>());
}

void Engine::watch_casts() {
  model_->watch_casts(&cast_counts_);
}

double Engine::validate() {
  ops::Device& device = backend_->device();
  upload_tokens(tokens_per_micro_batch());
  ops::write_value(device, loss_sum_.ptr<double>(), 0.0);
  run_validation();
  const auto span = run_.waiting();
  return ops::read_value(device, loss_sum_.ptr<double>()) / static_cast<double>(tokens_per_micro_batch());
}

void Engine::run_weight_cast() {
  const ProgramScope program(*memory_, "cast_weights");
  model_->measure_weights(run_);
  model_->cast_weights(run_);
}

void Engine::weights_changed() {
  model_->parameters().round_weights(backend_->device());
  run_weight_cast();
}

}  // namespace octet
