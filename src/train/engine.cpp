#include "train/engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/host_access.h"
#include "train/model_setup.h"
#include "train/step_parts.h"

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

/// Kernels look up where a document begins, and halve ranges of it: what breaks the rules of ops::Documents goes to
/// none.
void check_document_starts(std::span<const std::int32_t> starts, std::int64_t seq_len) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t position = static_cast<std::int64_t>(i) % seq_len;
    const std::int32_t least = position == 0 ? 0 : starts[i - 1];
    check(least <= starts[i] && starts[i] <= position, "documents begin in order, and at or before their tokens");
  }
}

/// What a sum over the targets that count is divided by for their mean; the sum over none is 0.
double mean_over(std::span<const std::int32_t> targets) {
  return static_cast<double>(std::max<std::int64_t>(count_targets(targets), 1));
}

/// How many times its layer's mean the busiest expert got, in the layer where that is most; 0 without experts.
double worst_load(const std::vector<std::vector<std::int64_t>>& loads) {
  double worst = 0;
  for (const std::vector<std::int64_t>& load : loads) {
    const auto mean = static_cast<double>(std::accumulate(load.begin(), load.end(), std::int64_t{0})) /
                      static_cast<double>(load.size());
    worst = std::max(worst, static_cast<double>(*std::ranges::max_element(load)) / mean);
  }
  return worst;
}

}  // namespace

std::int64_t count_targets(std::span<const std::int32_t> targets) {
  return std::ranges::count_if(targets, [](std::int32_t target) { return target >= 0; });
}

bool StepOutcome::finite() const {
  return std::isfinite(loss) && std::isfinite(grad_norm);
}

StepMemory::~StepMemory() {
  for (Slab& slab : parameters_.slabs()) slab.end_gradients();
}

Engine::Engine(const Config& config, std::unique_ptr<ops::Backend> backend, std::unique_ptr<Model> model,
               bool keeps_gradients)
    : config_(config),
      storage_(slab_storage(config, true)),
      shape_{config.training.batch_size,
             config.training.seq_len,
             {.packed = config.data.boundaries == Config::Boundaries::attention}},
      backend_(std::move(backend)),
      model_(std::move(model)),
      run_(*backend_, *memory_),
      groups_(assign_parameter_groups(model_->parameters(), config.optimizer.groups,
                                      {.weight_decay = config.optimizer.weight_decay, .lr_scale = 1})) {
  if (keeps_gradients) storage_.gradient_life = GradientLife::run;
  if (config.precision.shadow == Config::Shadow::bf16) shadow_ = std::make_unique<Shadow>(*model_, shape_.tokens());
  plan_memory();
}

void Engine::take_persistent(Memory& memory) {
  const std::int64_t rows = shape_.batch * config_.training.accumulate;
  inputs_ = memory.allocate("inputs", DType::i32, rows, shape_.seq_len, MemoryClass::workspace);
  targets_ = memory.allocate("targets", DType::i32, rows, shape_.seq_len, MemoryClass::workspace);
  if (packs_documents()) {
    document_start_ = memory.allocate("document_start", DType::i32, rows, shape_.seq_len, MemoryClass::workspace);
    shape_.documents.start = document_start_.ptr<std::int32_t>();
  }
  loss_sum_ = memory.allocate("loss_sum", DType::f64, 1, 1, MemoryClass::workspace);
  gradient_squares_ = memory.allocate("gradient_squares", DType::f64, 1, 1, MemoryClass::workspace);
  scalars_ = memory.allocate("step_scalars", DType::u64, 1, sizeof(ops::StepScalars) / sizeof(std::uint64_t),
                             MemoryClass::workspace);
  cast_counts_.counts = memory.allocate("cast_counts", DType::u64, 1, 3, MemoryClass::workspace);
  if (shadow_) shadow_->allocate(memory);
  model_->allocate(memory, storage_);
}

/// Each program runs once against a Memory that only takes notes.
void Engine::plan_memory() {
  take_persistent(*memory_);
  begin_step("step");
  run_micro_batch(0);
  const Work micro_batch = sum(run_.totals());
  sum_gradient_squares();
  run_optimizer();
  discard();
  planned_work_ = sum(run_.totals());
  const auto further = static_cast<double>(config_.training.accumulate - 1);
  planned_work_.flops += further * micro_batch.flops;
  planned_work_.bytes += further * micro_batch.bytes;
  run_weight_cast();
  if (!config_.data.validation.empty()) run_validation();
  if (shadow_) plan_watched_step();
  plan_ = memory_->finish();
}

void Engine::plan_watched_step() {
  begin_step("watched_step");
  run_watched_micro_batch();
  if (!gradients_live_for_a_step()) return;  // what follows is planned
  sum_gradient_squares();
  run_optimizer();
  discard();
}

/// Opens the program of a whole step, where gradients live for one.
void Engine::begin_step(std::string_view program) {
  discard();
  if (gradients_live_for_a_step()) {
    step_memory_ = std::make_unique<StepMemory>(*memory_, program, model_->parameters());
  }
}

/// A part of a step as a program of its own, unless that of the whole step is open.
std::optional<ProgramScope> Engine::enter(std::string_view program) {
  if (step_memory_) return std::nullopt;
  return std::optional<ProgramScope>(std::in_place, *memory_, program);
}

void Engine::allocate() {
  auto memory = std::make_unique<Memory>(plan_, backend_->device().allocator());
  run_ = ops::Executor(*backend_, *memory);
  if (config_.runtime.synchronous) run_.wait_for_each_op();
  take_persistent(*memory);
  memory_ = std::move(memory);  // the planning Memory goes last: the buffers it gave out were just replaced
  model_->prepare(backend_->device());
  captured_ = CapturedStep(config_.runtime.graphs == Config::Graphs::automatic && backend_->device().can_capture());
  host_inputs_.resize(static_cast<std::size_t>(tokens_per_step()));
  host_targets_.resize(host_inputs_.size());
  if (packs_documents()) host_document_start_.resize(host_inputs_.size());
}

std::span<std::int32_t> Engine::inputs() {
  return host_inputs_;
}

std::span<std::int32_t> Engine::targets() {
  return host_targets_;
}

std::span<std::int32_t> Engine::document_start() {
  return host_document_start_;
}

/// The tokens that every micro-batch and validation reads.
Batch Engine::micro_batch() const {
  return {shape_, inputs_.ptr<std::int32_t>(), targets_.ptr<std::int32_t>(),
          static_cast<float>(1.0 / static_cast<double>(tokens_per_step()))};
}

/// Of a target's loss in the step's.
float Engine::gradient_scale() const {
  return static_cast<float>(1.0 / static_cast<double>(std::max<std::int64_t>(counted_targets_, 1)));
}

void Engine::run_micro_batch(std::int64_t index) {
  const auto span = run_.phase("micro-batch");
  const auto program = enter("train");
  model_->train(run_, micro_batch(), gradient_scale(), index > 0, loss_sum_.ptr<double>());
}

/// The first, in place of run_micro_batch(0).
void Engine::run_watched_micro_batch() {
  const auto span = run_.phase("watched micro-batch");
  const auto program = enter("watch");
  shadow_->train(run_, micro_batch(), gradient_scale(), loss_sum_.ptr<double>());
}

/// The first `count` of inputs(), targets() and document_start() to the device.
void Engine::upload_tokens(std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(std::int32_t);
  backend_->device().upload(inputs_.tensor().raw(), host_inputs_.data(), bytes);
  backend_->device().upload(targets_.tensor().raw(), host_targets_.data(), bytes);
  if (!packs_documents()) return;
  check_document_starts(std::span(host_document_start_).first(static_cast<std::size_t>(count)), shape_.seq_len);
  backend_->device().upload(document_start_.tensor().raw(), host_document_start_.data(), bytes);
}

void Engine::sum_gradient_squares() {
  const auto program = enter("gradient_norm");
  octet::sum_gradient_squares(run_, model_->parameters(), gradient_squares_.ptr<double>());
}

StepOutcome Engine::compute_gradients() {
  return compute_gradients(false);
}

StepOutcome Engine::compute_watched_gradients() {
  check(shadow_ != nullptr, "a watched step has a shadow");
  return compute_gradients(true);
}

StepOutcome Engine::compute_gradients(bool watched) {
  begin_step(watched ? "watched_step" : "step");
  ops::Device& device = backend_->device();
  upload_tokens(tokens_per_step());
  ops::write_value(device, loss_sum_.ptr<double>(), 0.0);
  ops::write_value(device, gradient_squares_.ptr<double>(), 0.0);
  counted_targets_ = count_targets(host_targets_);
  // A graph keeps the scale that its losses were captured with.
  captured_.begin(watched || watches_casts_ || run_.is_watched() || counted_targets_ != tokens_per_step());
  if (watched) {
    run_watched_micro_batch();
    const double watched_targets =
        mean_over(std::span(host_targets_).first(static_cast<std::size_t>(tokens_per_micro_batch())));
    watched_losses_ = {shadow_->loss_sum() / watched_targets,
                       ops::read_value(device, loss_sum_.ptr<double>()) / watched_targets};
  } else {
    captured_.run(StepPart::first_micro_batch, run_, [this] { run_micro_batch(0); });
  }
  for (std::int64_t i = 1; i < config_.training.accumulate; ++i) {
    for (const Buffer* tokens : {&inputs_, &targets_, &document_start_}) {  // so that one graph serves all later ones
      if (*tokens) bring_tokens(run_, tokens->tensor(), i, shape_.batch);
    }
    captured_.run(StepPart::later_micro_batch, run_, [this, i] { run_micro_batch(i); });
  }
  captured_.run(StepPart::gradient_norm, run_, [this] { sum_gradient_squares(); });
  const auto span = run_.waiting();
  const double targets = mean_over(host_targets_);
  OtherLosses others = model_->other_losses(device);
  others.prediction /= targets;
  return {ops::read_value(device, loss_sum_.ptr<double>()) / targets,
          std::sqrt(ops::read_value(device, gradient_squares_.ptr<double>())), others,
          worst_load(model_->expert_loads(device))};
}

void Engine::before_update(std::function<void(std::size_t slab)> wait) {
  check(backend_->device().host_memory(), "only the host's memory is read while steps change it");
  wait_for_readers_ = std::move(wait);
}

void Engine::run_optimizer() {
  const auto program = enter("optimizer");
  if (wait_for_readers_) wait_for_readers_(0);
  model_->balance(run_);
  update_parameters(run_, model_->parameters(), groups_, config_.optimizer,
                    reinterpret_cast<const ops::StepScalars*>(scalars_.tensor().raw()), wait_for_readers_);
  model_->cast_weights(run_);
}

void Engine::update(std::int64_t step, double learning_rate, double grad_norm) {
  check(step_memory_ || !gradients_live_for_a_step(), "an update follows the computation of its gradients");
  const Config::Optimizer& adam = config_.optimizer;
  const double clip = adam.clip_norm > 0 && grad_norm > adam.clip_norm ? adam.clip_norm / grad_norm : 1.0;
  const ops::StepScalars scalars{static_cast<float>(learning_rate), static_cast<float>(clip),
                                 static_cast<float>(1.0 - std::pow(adam.beta1, static_cast<double>(step))),
                                 static_cast<float>(1.0 - std::pow(adam.beta2, static_cast<double>(step))),
                                 rounding_key(config_.training.seed, step)};
  backend_->device().upload(scalars_.tensor().raw(), &scalars, sizeof scalars);
  captured_.run(StepPart::optimizer, run_, [this] { run_optimizer(); });
  captured_.end();
  discard();
}

void Engine::run_validation() {
  const ProgramScope program(*memory_, "validate");
  model_->validate(run_, micro_batch(), loss_sum_.ptr<double>());
}

void Engine::watch_casts() {
  model_->watch_casts(&cast_counts_);
  watches_casts_ = true;
}

double Engine::validate() {
  ops::Device& device = backend_->device();
  upload_tokens(tokens_per_micro_batch());
  ops::write_value(device, loss_sum_.ptr<double>(), 0.0);
  run_validation();
  const auto span = run_.waiting();
  return ops::read_value(device, loss_sum_.ptr<double>()) /
         mean_over(std::span(host_targets_).first(static_cast<std::size_t>(tokens_per_micro_batch())));
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
