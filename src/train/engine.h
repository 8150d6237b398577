// Engine: a model on a device with its memory, and what one optimizer step does to it. Knows no files and no loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/config.h"
#include "model/model.h"
#include "model/shadow.h"
#include "ops/executor.h"
#include "train/captured_step.h"
#include "train/parameter_groups.h"

namespace octet {

/// How many of `targets` count in a loss: those from 0 on.
[[nodiscard]] std::int64_t count_targets(std::span<const std::int32_t> targets);

/// What a step came to. Loss in nats per token, the mean over the targets of all micro-batches that count, 0 where none
/// does; norm of the unclipped gradient.
struct StepOutcome {
  double loss = 0;
  double grad_norm = 0;
  OtherLosses others = {};       ///< that of further tokens per token as well
  double worst_expert_load = 0;  ///< how many times the mean the busiest expert got, where that is most
  [[nodiscard]] bool finite() const;
};

/// What ops compute and must move, counted as ops count it.
struct Work {
  double flops = 0;
  double bytes = 0;
};

/// Of the watched micro-batch, in nats per token.
struct WatchedLosses {
  double bf16 = 0;
  double recipe = 0;
};

/// The memory of a step whose gradients live from backward to their update: one program, open between the two. Gives
/// back the gradients that are left when it ends.
class StepMemory {
 public:
  StepMemory(Memory& memory, std::string_view program, Parameters& parameters)
      : program_(memory, program), parameters_(parameters) {}
  ~StepMemory();
  StepMemory(const StepMemory&) = delete;
  StepMemory& operator=(const StepMemory&) = delete;

 private:
  ProgramScope program_;
  Parameters& parameters_;
};

class Engine {
 public:
  /// Gradients live from backward to their update, or always where micro-batches add to them or `keeps_gradients` asks
  /// for it: for who reads them after the update. Bits are the same.
  Engine(const Config& config, std::unique_ptr<ops::Backend> backend, std::unique_ptr<Model> model,
         bool keeps_gradients = false);

  /// Allocates the planned arena. Until then only the plan exists.
  void allocate();

  /// Where the caller puts the tokens of the next step: [accumulate * batch, seq_len] each. Targets below 0 are left
  /// out of losses and their means; a device that replays its steps runs such a step op by op.
  [[nodiscard]] std::span<std::int32_t> inputs();
  [[nodiscard]] std::span<std::int32_t> targets();
  /// The index in its row of the first token of each token's document, as ops::Documents has it; as many, or none
  /// unless data.boundaries asks for them. They begin as rows of one document each.
  [[nodiscard]] std::span<std::int32_t> document_start();

  /// Forward and backward of all micro-batches and the gradient's norm. Weights stay as they are. Then the step is
  /// applied by update(), or left out by discard(); until then nothing else can run. Discards a step that is open.
  [[nodiscard]] StepOutcome compute_gradients();
  /// The same bits, with the first micro-batch watched: shadow() then says what it showed. Only where precision.shadow
  /// asks for a shadow.
  [[nodiscard]] StepOutcome compute_watched_gradients();
  [[nodiscard]] const WatchedLosses& watched_losses() const { return watched_losses_; }
  [[nodiscard]] const Shadow& shadow() const { return *shadow_; }
  /// AdamW with the gradient clipped to `optimizer.clip_norm`, then the weights' FP8 codes. `step` counts from 1. Ends
  /// the gradients, unless they are kept.
  void update(std::int64_t step, double learning_rate, double grad_norm);
  /// From here on `wait(i)` is called on the loop's thread before an update changes slab i, and before slab 0 what is
  /// trained without gradients: for who reads them meanwhile. Only for devices that compute in the host's memory: on
  /// others an update may be replayed from a graph, without calls.
  void before_update(std::function<void(std::size_t slab)> wait);
  /// Leaves the computed step out: ends its gradients. Nothing happens where no step is open.
  void discard() { step_memory_.reset(); }
  /// Mean loss of one batch [batch, seq_len] that lies in the first rows of inputs(), targets() and document_start(),
  /// over the targets that count; 0 where none does.
  [[nodiscard]] double validate();
  /// Counts what the casts of the next step do; see `cast_counts`.
  void watch_casts();
  [[nodiscard]] const CastCounts& cast_counts() const { return cast_counts_; }
  /// After weights were set from outside: an initial seed or a checkpoint.
  void weights_changed();

  [[nodiscard]] Model& model() { return *model_; }
  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] ops::Executor& executor() { return run_; }
  [[nodiscard]] const ops::Executor& executor() const { return run_; }
  [[nodiscard]] const ops::Backend& backend() const { return *backend_; }
  [[nodiscard]] const MemoryPlan& plan() const { return plan_; }
  [[nodiscard]] const SlabStorage& storage() const { return storage_; }
  [[nodiscard]] std::size_t measured_peak() const { return memory_ ? memory_->measured_peak() : 0; }
  [[nodiscard]] std::int64_t tokens_per_step() const { return tokens_per_micro_batch() * config_.training.accumulate; }
  [[nodiscard]] std::int64_t tokens_per_micro_batch() const { return shape_.tokens(); }
  /// The work of one step, from the dry run, which takes every micro-batch for the first.
  [[nodiscard]] const Work& planned_work() const { return planned_work_; }
  /// Which of the steps were replayed from graphs.
  [[nodiscard]] const CapturedStep& captured_step() const { return captured_; }

 private:
  [[nodiscard]] bool gradients_live_for_a_step() const { return storage_.gradient_life == GradientLife::step; }
  void begin_step(std::string_view program);
  [[nodiscard]] std::optional<ProgramScope> enter(std::string_view program);
  void take_persistent(Memory& memory);
  [[nodiscard]] Batch micro_batch() const;
  [[nodiscard]] bool packs_documents() const { return shape_.documents.packed; }
  [[nodiscard]] float gradient_scale() const;
  void run_micro_batch(std::int64_t index);
  void run_watched_micro_batch();
  [[nodiscard]] StepOutcome compute_gradients(bool watched);
  void upload_tokens(std::int64_t count);
  void sum_gradient_squares();
  void run_optimizer();
  void run_weight_cast();
  void run_validation();
  void plan_memory();
  void plan_watched_step();

  Config config_;
  SlabStorage storage_;
  BatchShape shape_;
  // Destroyed from the last to the first: buffers, the model's among them, before the memory that they are of.
  std::unique_ptr<ops::Backend> backend_;
  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  std::unique_ptr<Model> model_;
  ops::Executor run_;
  MemoryPlan plan_;
  Work planned_work_;
  Buffer inputs_, targets_, document_start_;  // [accumulate * batch, seq_len] i32; the last empty without documents
  std::vector<std::int32_t> host_inputs_, host_targets_, host_document_start_;
  Buffer loss_sum_;                                  // [1] f64
  Buffer gradient_squares_;                          // [1] f64
  Buffer scalars_;                                   // ops::StepScalars
  std::vector<std::vector<ParameterGroup>> groups_;  // of each slab's parameters
  std::function<void(std::size_t slab)> wait_for_readers_;
  CastCounts cast_counts_;
  bool watches_casts_ = false;
  std::unique_ptr<Shadow> shadow_;  // null without precision.shadow
  WatchedLosses watched_losses_;
  std::unique_ptr<StepMemory> step_memory_;  // between gradients and update, where gradients live for a step
  CapturedStep captured_;
  std::int64_t counted_targets_ = 0;  // of this step
};

}  // namespace octet
