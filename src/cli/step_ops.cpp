#include "cli/step_ops.h"

#include "core/memory.h"
#include "ops/executor.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

/// Takes a note of every op that a plan asks it about.
class NotingDevice final : public ops::Device {
 public:
  explicit NotingDevice(const ops::Device& noted_for) : recomputes_casts_(noted_for.recomputes_casts()) {}

  [[nodiscard]] std::string description() const override { return "takes notes only"; }
  [[nodiscard]] std::vector<fp8::FormatFamily> families() const override { return {}; }
  [[nodiscard]] ArenaAllocator allocator() override {
    return [](std::size_t) -> std::shared_ptr<std::byte> { throw Failure("a device for notes has no memory"); };
  }

  [[nodiscard]] bool recomputes_casts() const override { return recomputes_casts_; }

  /// From here on ops count as `calls` of a step each.
  void count_as(std::int64_t calls) { calls_ = calls; }
  /// Of a const device, as a plan sees it: notes change nothing that a plan depends on.
  template <typename Op>
  void note(const Op& op) const {
    ops_->add(op, calls_);
  }
  [[nodiscard]] const StepOps& ops() const { return *ops_; }

 private:
  bool recomputes_casts_;
  std::unique_ptr<StepOps> ops_ = std::make_unique<StepOps>();
  std::int64_t calls_ = 1;
};

template <typename Op>
void fill(ops::Entry<Op>& entry) {
  entry.run = [](ops::Device&, const Op&, ops::Workspace) { throw Failure("{} is noted, never run", Op::name); };
  entry.workspace_bytes = [](const ops::Device& device, const Op& op) -> std::size_t {
    static_cast<const NotingDevice&>(device).note(op);
    return 0;
  };
}

void run_optimizer(ops::Executor& run, const Parameters& parameters, const SlabStorage& storage) {
  for (const Slab& slab : parameters.slabs()) {
    for (const Tensor& gradients : slab.gradients()) {
      ops::SumOfSquares squares{};
      squares.count = gradients.numel();
      squares.dtype = gradients.dtype();
      run(squares);
    }
  }
  for (const Slab& slab : parameters.slabs()) {
    for (std::size_t i = 0; i < slab.parameters().size(); ++i) {
      const Parameter& parameter = slab.parameters()[i];
      ops::AdamW update{};
      update.rows = parameter.rows;
      update.cols = parameter.cols;
      update.gradients = slab.gradient(i).dtype();
      update.moments = storage.moments;
      update.has_master = storage.master;
      update.measures = parameter.measured;
      run(update);
    }
  }
}

}  // namespace

StepOps ops_of_step(const Config& config, const ops::Backend& backend) {
  const auto model = make_model(config, backend);
  auto owned = std::make_unique<NotingDevice>(backend.device());
  NotingDevice& notes = *owned;
  ops::OpTable table;
  std::apply([](auto&... entries) { (fill(entries), ...); }, table);
  const ops::Backend noting("notes", std::move(owned), table);

  Memory memory;
  ops::Executor run(noting, memory);
  SlabStorage storage = slab_storage(config, true);
  storage.gradient_life = GradientLife::run;
  model->allocate(memory, storage);
  const Batch batch{{config.training.batch_size, config.training.seq_len}, nullptr, nullptr};
  for (std::int64_t i = 0; i < config.training.accumulate; ++i) {
    const ProgramScope program(memory, fmt::format("micro-batch {}", i));  // a plan runs no program twice
    model->train(run, batch, 1.0F, i > 0, nullptr);
  }
  run_optimizer(run, model->parameters(), storage);
  model->cast_weights(run);
  notes.count_as(0);
  model->measure_weights(run);
  return notes.ops();
}

}  // namespace octet::cli
