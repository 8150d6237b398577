#include "train/checkpoint_saver.h"

#include <chrono>
#include <utility>

#include "core/error.h"
#include "core/timing.h"

namespace octet {
namespace {

double milliseconds_since(double begin) {
  return (monotonic_seconds() - begin) * 1e3;
}

}  // namespace

CheckpointSaver::CheckpointSaver(std::filesystem::path directory, Engine& engine, const Config& config)
    : directory_(std::move(directory)), engine_(engine), config_(config) {
  const Parameters& parameters = engine.model().parameters();
  if (checkpoint_staging_bytes(config, parameters) == 0) return;
  staging_.emplace(engine.backend().device(), parameters);
  if (!copies_behind_steps()) return;
  engine.before_update([this](std::size_t slab) {
    if (milliseconds_.valid()) saving_.stall_milliseconds += staging_->wait_for(slab) * 1e3;
  });
}

CheckpointSaver::~CheckpointSaver() {
  settle();
  if (copies_behind_steps()) engine_.before_update({});
}

/// A device with memory of its own copies in the order of its ops, before the next step.
bool CheckpointSaver::copies_behind_steps() const {
  return staging_ && engine_.backend().device().host_memory();
}

void CheckpointSaver::save(const TrainState& state, bool last) {
  check(!milliseconds_.valid(), "one save is under way at a time");
  last || !staging_ ? save_now(state) : save_behind_steps(state);
}

void CheckpointSaver::save_now(const TrainState& state) {
  const double begin = monotonic_seconds();
  save_checkpoint(directory_, engine_.backend().device(), engine_.model().parameters(), config_, state);
  const double milliseconds = milliseconds_since(begin);
  note({.step = state.step, .milliseconds = milliseconds, .stall_milliseconds = milliseconds});
}

void CheckpointSaver::save_behind_steps(const TrainState& state) {
  const double begin = monotonic_seconds();
  const Parameters& parameters = engine_.model().parameters();
  staging_->begin();
  if (!copies_behind_steps()) staging_->copy();
  CheckpointContent content = {state.step, checkpoint_state_text(config_, state),
                               staging_->file_tensors(checkpointed_values(parameters)),
                               staging_->file_tensors(checkpointed_moments(parameters))};
  milliseconds_ = std::async(std::launch::async, [this, begin, content = std::move(content)] {
    if (copies_behind_steps()) staging_->copy();
    write_checkpoint(directory_, content, config_.checkpoint);
    return milliseconds_since(begin);
  });
  saving_ = {.step = state.step, .milliseconds = 0, .stall_milliseconds = milliseconds_since(begin)};
}

std::optional<std::int64_t> CheckpointSaver::under_way() const {
  if (!milliseconds_.valid()) return std::nullopt;
  return saving_.step;
}

std::optional<io::SavedCheckpoint> CheckpointSaver::next() {
  using namespace std::chrono_literals;
  if (milliseconds_.valid() && milliseconds_.wait_for(0s) == std::future_status::ready) collect();
  return std::exchange(saved_, std::nullopt);
}

std::optional<io::SavedCheckpoint> CheckpointSaver::finish() {
  if (milliseconds_.valid()) {
    const double begin = monotonic_seconds();
    milliseconds_.wait();
    saving_.stall_milliseconds += milliseconds_since(begin);
    collect();
  }
  return std::exchange(saved_, std::nullopt);
}

void CheckpointSaver::settle() noexcept {
  if (milliseconds_.valid()) milliseconds_.wait();
}

/// What the thread of the save has left: its time, or its error.
void CheckpointSaver::collect() {
  saving_.milliseconds = milliseconds_.get();
  note(saving_);
}

void CheckpointSaver::note(const io::SavedCheckpoint& saved) {
  ++totals_.saves;
  totals_.milliseconds += saved.milliseconds;
  totals_.stall_milliseconds += saved.stall_milliseconds;
  saved_ = saved;
}

}  // namespace octet
