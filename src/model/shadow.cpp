#include "model/shadow.h"

#include "core/timing.h"
#include "ops/host_access.h"

namespace octet {
namespace {

/// Time spent so far in ops that only a watch runs.
double seconds_of_watching(const ops::Executor& run) {
  double seconds = 0;
  for (const std::string_view op : {ops::Copy::name, ops::Difference::name, ops::CastStatistics::name}) {
    if (const auto found = run.totals().find(op); found != run.totals().end()) seconds += found->second.seconds;
  }
  return seconds;
}

}  // namespace

/// A pass over the model, in which every layer reports to its shadow.
class Shadow::PassScope {
 public:
  PassScope(Shadow& shadow, ShadowPass pass) : model_(shadow.model_) {
    const std::vector<Linear*> linears = model_.linears();
    for (std::size_t i = 0; i < linears.size(); ++i) {
      shadow.layers_[i].begin(pass);
      linears[i]->compute_in_bf16(pass == ShadowPass::shadow);
      linears[i]->report_to(&shadow.layers_[i]);
    }
  }
  ~PassScope() {
    for (Linear* linear : model_.linears()) {
      linear->compute_in_bf16(false);
      linear->report_to(nullptr);
    }
  }
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

 private:
  Model& model_;
};

Shadow::Shadow(Model& model, std::int64_t tokens) : model_(model) {
  for (const Linear* linear : model.linears()) {
    const bool is_head = linear == model.linears().back();
    layers_.emplace_back(linear->name(), tokens, is_head && model.tied_embeddings());
  }
}

void Shadow::allocate(Memory& memory) {
  const auto layers = static_cast<std::int64_t>(layers_.size());
  energies_ = memory.allocate("watch_energies", DType::f64, layers * kLayerResults, kEnergies, MemoryClass::workspace);
  counts_ = memory.allocate("watch_counts", DType::u64, layers * kLayerCasts, kCastCounts, MemoryClass::workspace);
  loss_sum_ = memory.allocate("watch_loss_sum", DType::f64, 1, 1, MemoryClass::workspace);
  for (std::int64_t i = 0; i < layers; ++i) {
    layers_[static_cast<std::size_t>(i)].bind(energies_.tensor().row_range(i * kLayerResults, kLayerResults),
                                              counts_.tensor().row_range(i * kLayerCasts, kLayerCasts));
  }
}

void Shadow::clear(ops::Executor& run) const {
  for (const Buffer* sums : {&energies_, &counts_, &loss_sum_}) {
    run(ops::Zero{sums->tensor().raw(), static_cast<std::int64_t>(sums->tensor().bytes())});
  }
}

void Shadow::run_pass(ops::Executor& run, ShadowPass pass, const Batch& batch, float gradient_scale, double* loss_sum) {
  const auto span = run.phase(pass == ShadowPass::shadow ? "in bf16" : "as trained");
  const PassScope scope(*this, pass);
  model_.train(run, batch, gradient_scale, false, loss_sum);
  run.settle_times();
}

/// A few copies for all layers.
void Shadow::read_sums(ops::Executor& run) {
  if (run.memory().planning()) return;
  const auto span = run.waiting();
  ops::Device& device = run.backend().device();
  const ops::HostBytes energies(device, energies_.tensor());
  const ops::HostBytes counts(device, counts_.tensor());
  read_loss_sum_ = ops::read_value(device, loss_sum_.ptr<double>());
  constexpr std::size_t kEnergiesEach = kLayerResults * kEnergies;
  constexpr std::size_t kCountsEach = kLayerCasts * kCastCounts;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].read(energies.as<double>().subspan(i * kEnergiesEach, kEnergiesEach),
                    counts.as<std::uint64_t>().subspan(i * kCountsEach, kCountsEach));
  }
}

/// On a device that runs behind the host both passes are waited for and their ops timed: a watched step may cost that.
void Shadow::train(ops::Executor& run, const Batch& batch, float gradient_scale, double* loss_sum) {
  const bool timed_before = run.time_ops();
  run.wait();
  const double begin = monotonic_seconds();
  clear(run);
  run_pass(run, ShadowPass::shadow, batch, gradient_scale, loss_sum_.ptr<double>());
  seconds_ = monotonic_seconds() - begin;
  const double before = seconds_of_watching(run);
  run_pass(run, ShadowPass::compared, batch, gradient_scale, loss_sum);
  seconds_ += seconds_of_watching(run) - before;
  run.time_ops(timed_before);
  read_sums(run);
}

}  // namespace octet
