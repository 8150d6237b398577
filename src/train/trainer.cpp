#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/timing.h"
#include "train/device_fault.h"
#include "train/initial_weights.h"
#include "train/machine.h"
#include "train/memory_shortage.h"
#include "train/model_setup.h"
#include "train/non_finite.h"
#include "train/schedule.h"
#include "train/training_data.h"

namespace octet {
namespace {

/// The reported training loss is the mean over so many last steps.
constexpr std::size_t kLossWindow = 20;

Engine make_engine(const TrainRequest& request) {
  const Config& config = request.loaded.config;
  auto backend = make_backend(config);
  auto model = request.demonstrate_fault ? make_faulty_model(config, *backend) : make_model(config, *backend);
  return {config, std::move(backend), std::move(model), request.record.gradients};
}

Prefetcher prefetch_training_data(const Config& config) {
  const std::int64_t rows = config.training.batch_size * config.training.accumulate;
  return {open_training_data(config), static_cast<std::size_t>(rows * config.training.seq_len),
          config.data.boundaries == Config::Boundaries::attention};
}

/// What the user hears of a fault: how far the run came, where the device failed, and how to go on.
std::string explain(const DeviceFault& fault, const Engine& engine, const std::filesystem::path& run_directory,
                    std::int64_t steps_done) {
  const auto checkpoints = list_checkpoints(run_directory / "checkpoints");
  const std::string go_on = checkpoints.empty()
                                ? "there is no checkpoint yet: begin again with the same command and --resume auto"
                                : fmt::format("the last checkpoint is {}: go on with the same command and --resume",
                                              checkpoints.back().string());
  return fmt::format("after {} steps: {}; {}", steps_done, describe_fault(fault, engine.executor()), go_on);
}

/// A model that learned the tokens of one tokenizer learns nothing from another's. 0: unknown.
void check_same_tokenizer(const std::filesystem::path& checkpoint, std::uint64_t its, std::uint64_t ours) {
  if (its == 0 || ours == 0 || its == ours) return;
  throw UserError(
      "{} was trained on tokens of the tokenizer {:016x}, the data are of {:016x}: resume with shards of the same "
      "tokenizer, or begin another run",
      checkpoint.string(), its, ours);
}

/// The run's directory; leaves in the engine and the loader the state from which the run begins or goes on. `is_ours`
/// says from when on the directory is this run's.
RunDirectory begin_or_resume(const TrainRequest& request, std::uint64_t tokenizer, Engine& engine, Prefetcher& loader,
                             bool& is_ours) {
  const std::filesystem::path& path = request.run_directory;
  const Config& config = request.loaded.config;
  const Parameters& parameters = engine.model().parameters();
  ops::Device& device = engine.backend().device();
  const auto checkpoints = list_checkpoints(path / "checkpoints");
  if (request.resume == Resume::must && checkpoints.empty()) {
    throw UserError("{} holds no checkpoint to resume from: start without --resume, or use --resume auto",
                    path.string());
  }
  const bool was_begun = request.resume != Resume::never && RunDirectory::holds_run(path);
  is_ours = was_begun;
  check_memory(engine, config);
  check_host_memory(engine, config, available_host_bytes());
  engine.allocate();  // before there is a directory, so that a device that is too small leaves none
  if (request.resume != Resume::never && !checkpoints.empty()) {
    const TrainState state = load_checkpoint(checkpoints.back(), device, parameters, config, LoadOptimizer::yes);
    check_same_tokenizer(checkpoints.back(), state.tokenizer, tokenizer);
    loader.restore(state.loader);
    return RunDirectory::resume(path, state.step);
  }
  std::optional<InitialWeights> initial;
  if (request.init_from) initial.emplace(*request.init_from, parameters, config);
  RunDirectory directory = was_begun ? RunDirectory::resume(path, 0) : RunDirectory::create(path);
  is_ours = true;
  parameters.initialize(device, static_cast<std::uint64_t>(config.training.seed));
  if (initial) initial->fill(device, parameters);
  return directory;
}

/// Says in run.json that the run failed.
void record_failure(const TrainRequest& request, const RunFacts& facts, const Engine& engine) {
  try {
    RunDirectory::write_run(request.run_directory, describe_run(facts, "failed", engine, request.loaded.config,
                                                                std::nullopt, request.demonstrate_fault));
  } catch (const UserError&) {
    return;  // on a full disk, say; the user hears of the first error, which is the cause
  }
}

RunDirectory begin(const TrainRequest& request, const RunFacts& facts, Engine& engine, Prefetcher& loader) {
  bool is_ours = false;
  try {
    return begin_or_resume(request, facts.tokenizer, engine, loader, is_ours);
  } catch (const DeviceFault& fault) {
    if (is_ours) record_failure(request, facts, engine);
    throw Failure("{}", explain(fault, engine, request.run_directory, 0));
  }
}

}  // namespace

Trainer::Trainer(TrainRequest request, TrainListener& listener, std::function<int()> pending_signal)
    : request_(std::move(request)),
      config_(request_.loaded.config),
      listener_(listener),
      pending_signal_(std::move(pending_signal)),
      engine_(make_engine(request_)),
      loader_(prefetch_training_data(config_)),
      validation_(open_validation_data(config_)),
      facts_(gather_facts(request_.loaded, request_.run_directory, request_.command_line)),
      directory_(begin(request_, facts_, engine_, loader_)),
      first_step_(directory_.first_step()),
      saver_(directory_.checkpoints(), engine_, config_) {
  try {
    engine_.weights_changed();
  } catch (const DeviceFault& fault) {
    record_failure(request_, facts_, engine_);
    throw Failure("{}", explain(fault, engine_, request_.run_directory, first_step_ - 1));
  }
  if (request_.demonstrate_fault) engine_.watch_casts();
}

TrainOutcome Trainer::train() {
  if (first_step_ > config_.training.steps) {
    throw UserError("{} has trained all its {} steps: raise training.steps to go on", request_.run_directory.string(),
                    config_.training.steps);
  }
  prepare_profile();
  prepare_records();
  prepare_logs();
  write_config(directory_, request_.loaded);
  write_status("running", std::nullopt);
  try {
    TrainOutcome outcome = loop();
    write_status(outcome.finished ? "finished" : "interrupted", outcome.result);
    return outcome;
  } catch (const DeviceFault& fault) {
    saver_.settle();
    record_failure(request_, facts_, engine_);
    const std::int64_t done = metrics_.empty() ? first_step_ - 1 : metrics_.back().step;
    throw Failure("{}", explain(fault, engine_, request_.run_directory, done));
  } catch (const std::exception&) {
    record_failure(request_, facts_, engine_);
    throw;
  }
}

void Trainer::prepare_profile() {
  if (!request_.profile) return;
  // A resumed run is started with the options of its beginning: steps already profiled are no mistake.
  if (request_.profile->last < first_step_ && !std::filesystem::exists(profile_path())) {
    throw UserError("--profile ends at step {}, but the run goes on at step {}: profile steps from there on",
                    request_.profile->last, first_step_);
  }
  profile_.emplace(*request_.profile);
}

void Trainer::prepare_records() {
  remove_records_after(request_.run_directory, first_step_ - 1);
  if (!request_.record.keeps_tensors()) return;
  recorder_.emplace(request_.run_directory, request_.record, engine_.backend().device(), engine_.model().parameters());
  facts_.records = describe_records(request_.record, recorder_->plan(first_step_, config_.training.steps));
}

void Trainer::prepare_logs() {
  const std::filesystem::path& path = directory_.path();
  if (config_.precision.shadow != Config::Shadow::none) watch_log_.emplace(path, first_step_ - 1);
  if (config_.logging.tensorboard) events_.emplace(config_.logging, path, first_step_);
}

/// A step with its validation, profiled where that is wanted.
io::StepMetrics Trainer::run_step(std::int64_t step) {
  engine_.executor().set_tracer(profile_ && profile_->steps().contains(step) ? &*profile_ : nullptr);
  const auto span = engine_.executor().phase(fmt::format("step {}", step));
  io::StepMetrics metrics = train_step(step);
  if (validation_ && validates_after(step)) metrics.val_loss = validation_loss(*validation_);
  engine_.executor().settle_times();
  return metrics;
}

io::StepMetrics Trainer::train_step(std::int64_t step) {
  const double begin = monotonic_seconds();
  auto phase = engine_.executor().phase("data");
  io::StepMetrics record;
  record.step = step;
  record.learning_rate = learning_rate(config_, step);
  loader_.next_batch({engine_.inputs(), engine_.targets(), engine_.document_start()});
  phase.next("gradients");
  std::optional<ScaleWatch> scales;
  if (events_ && events_->wants_scales(step)) scales.emplace(engine_.executor());
  const StepOutcome outcome = compute_gradients(step);
  record.loss = outcome.loss;
  record.grad_norm = outcome.grad_norm;
  if (config_.model.moe.balance_weight > 0) record.balance_loss = outcome.others.balance;
  if (config_.model.mtp.depth > 0) record.mtp_loss = outcome.others.prediction;
  if (outcome.worst_expert_load > 0) record.worst_expert_load = outcome.worst_expert_load;
  phase.next("optimizer");
  if (outcome.finite()) {
    engine_.update(step, record.learning_rate, outcome.grad_norm);
  } else {
    handle_non_finite(record);
  }
  const double seconds = monotonic_seconds() - begin;
  record.milliseconds = seconds * 1e3;
  record.tokens_per_second = static_cast<double>(engine_.tokens_per_step()) / seconds;
  record.memory_bytes = resident_bytes();
  if (events_ && scales) events_->append(step, *scales);
  return record;
}

StepOutcome Trainer::compute_gradients(std::int64_t step) {
  if (!watch_log_ || step % config_.precision.shadow_interval != 0) return engine_.compute_gradients();
  const StepOutcome outcome = engine_.compute_watched_gradients();
  const io::WatchedStep watched = describe_watched(engine_, step);
  watch_log_->append(watched);
  listener_.on_watch(watched);
  return outcome;
}

void Trainer::handle_non_finite(io::StepMetrics& record) {
  const std::string where = find_first_non_finite(engine_);
  engine_.discard();
  if (config_.training.on_nan == Config::OnNan::stop) {
    append(record);
    saver_.settle();
    const auto checkpoints = list_checkpoints(directory_.checkpoints());
    throw Failure(
        "step {}: loss {}, gradient norm {}; the first NaN or inf is in {}; {}. training.on_nan = \"skip\" "
        "leaves such steps out",
        record.step, record.loss, record.grad_norm, where,
        checkpoints.empty() ? "there is no checkpoint yet" : "the last checkpoint is " + checkpoints.back().string());
  }
  record.skipped = true;
  listener_.on_skip(record.step, where);
}

void Trainer::append(const io::StepMetrics& record) {
  directory_.append(record);
  if (events_) events_->append(record);
}

bool Trainer::validates_after(std::int64_t step) const {
  const std::int64_t interval = config_.validation.interval;
  return step == config_.training.steps || (interval > 0 && step % interval == 0);
}

double Trainer::validation_loss(const ValidationLoader& data) {
  const auto span = engine_.executor().phase("validation");
  const auto batch = static_cast<std::uint64_t>(config_.training.batch_size);
  const auto count = static_cast<std::size_t>(engine_.tokens_per_micro_batch());
  const std::uint64_t batches = data.windows() / batch;
  const std::span<std::int32_t> starts = engine_.document_start();
  double sum = 0;
  double weights = 0;  // of batches: the shares of their targets that count, some of which do
  for (std::uint64_t i = 0; i < batches; ++i) {
    const std::span<std::int32_t> targets = engine_.targets().first(count);
    data.read(i * batch, {engine_.inputs().first(count), targets, starts.first(starts.empty() ? 0 : count)});
    const double weight = static_cast<double>(count_targets(targets)) / static_cast<double>(count);
    sum += engine_.validate() * weight;
    weights += weight;
  }
  return sum / weights;
}

void Trainer::checkpoint(std::int64_t step, bool last) {
  note(saver_.next());
  if (const auto earlier = saver_.under_way()) listener_.on_checkpoint_wait(*earlier, step);
  note(saver_.finish());
  saver_.save({step, loader_.state(), metrics_.back().val_loss, facts_.tokenizer}, last);
  note(saver_.next());
}

void Trainer::note(const std::optional<io::SavedCheckpoint>& saved) {
  if (!saved) return;
  listener_.on_checkpoint(directory_.checkpoints(), *saved);
  saved_ = saved;
}

bool Trainer::wants_to_stop(TrainOutcome& outcome) const {
  outcome.signal = pending_signal_();
  if (outcome.signal != 0) return true;
  const double limit = config_.training.max_minutes * 60;
  return limit > 0 && monotonic_seconds() - started_ > limit;
}

TrainOutcome Trainer::loop() {
  const std::int64_t last = config_.training.steps;
  listener_.on_start(engine_, first_step_, last);
  if (recorder_) listener_.on_records(recorder_->plan(first_step_, last));
  started_ = monotonic_seconds();
  TrainOutcome outcome;
  outcome.steps_done = first_step_ - 1;
  for (std::int64_t step = first_step_; step <= last; ++step) {
    note(saver_.next());
    io::StepMetrics record = run_step(step);
    record.checkpoint = std::exchange(saved_, std::nullopt);
    const bool is_last = step == last;
    if (step == first_step_) report_untuned_products();
    append(record);
    metrics_.push_back(record);
    if (recorder_) recorder_->record(step);
    outcome.steps_done = step;
    const double per_step = (monotonic_seconds() - started_) / static_cast<double>(step - first_step_ + 1);
    listener_.on_step(record, per_step * static_cast<double>(last - step));
    const bool stops = !is_last && wants_to_stop(outcome);
    if (profile_ && profile_->steps().contains(step) && (stops || step == profile_->steps().last)) {
      profile_->write(profile_path());
    }
    const std::int64_t saving = config_.checkpoint.interval;
    if (is_last || stops || (saving > 0 && step % saving == 0)) checkpoint(step, is_last || stops);
    if (stops) break;
  }
  outcome.finished = outcome.steps_done == last;
  summarize(outcome);
  return outcome;
}

void Trainer::report_untuned_products() {
  const std::vector<std::string> products = engine_.backend().device().untuned_products();
  if (!products.empty()) listener_.on_untuned_products(products);
}

void Trainer::summarize(TrainOutcome& outcome) const {
  std::vector<double> losses, speeds, times;
  for (const io::StepMetrics& record : metrics_) {
    if (!record.skipped) losses.push_back(record.loss);
    speeds.push_back(record.tokens_per_second);
    times.push_back(record.milliseconds);
    if (record.val_loss) outcome.result.val_loss = record.val_loss;
  }
  const auto window = static_cast<std::ptrdiff_t>(std::min(losses.size(), kLossWindow));
  outcome.result.train_loss =
      window == 0 ? std::nan("")
                  : std::accumulate(losses.end() - window, losses.end(), 0.0) / static_cast<double>(window);
  outcome.result.tokens_per_second = median(speeds);
  outcome.result.ms_per_step = median(times);
  outcome.result.saves = saver_.totals();
  outcome.result.fp8_codes_used = engine_.executor().fp8_codes_used();
  if (engine_.model().precision().options().recipe->uses_fp8() && outcome.result.fp8_codes_used == 0 &&
      !metrics_.empty()) {
    throw Failure("no product read an FP8 code although the recipe is {}", config_name(config_.precision.recipe));
  }
}

void Trainer::write_status(const char* status, const std::optional<RunResult>& result) {
  RunDirectory::write_run(directory_.path(),
                          describe_run(facts_, status, engine_, config_, result, request_.demonstrate_fault));
}

}  // namespace octet
