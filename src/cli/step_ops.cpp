#include "cli/step_ops.h"

#include "core/memory.h"
#include "ops/executor.h"
#include "train/model_setup.h"
#include "train/step_parts.h"

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
  const bool packed = config.data.boundaries == Config::Boundaries::attention;
  const Batch batch{{config.training.batch_size, config.training.seq_len, {.packed = packed}}, nullptr, nullptr};
  const std::int64_t rows = config.training.batch_size;
  const Buffer tokens = memory.allocate("tokens", DType::i32, rows * config.training.accumulate,
                                        config.training.seq_len, MemoryClass::workspace);
  for (std::int64_t i = 0; i < config.training.accumulate; ++i) {
    for (int brought = packed ? 3 : 2; i > 0 && brought > 0; --brought) {  // inputs, targets, where documents begin
      bring_tokens(run, tokens.tensor(), i, rows);
    }
    const ProgramScope program(memory, fmt::format("micro-batch {}", i));  // a plan runs no program twice
    model->train(run, batch, 1.0F, i > 0, nullptr);
  }
  Parameters& parameters = model->parameters();
  sum_gradient_squares(run, parameters, nullptr);
  update_parameters(run, parameters, assign_parameter_groups(parameters, config.optimizer.groups, {}), config.optimizer,
                    nullptr);
  model->cast_weights(run);
  notes.count_as(0);
  model->measure_weights(run);
  return notes.ops();
}

}  // namespace octet::cli
