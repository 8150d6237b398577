#include "model/model_run.h"

#include <algorithm>

namespace octet::test {

using ops::reference::LlamaBatch;
using ops::reference::Parameters;
using ops::reference::Vector;

Vector widened(const Tensor& tensor) {
  Vector values(static_cast<std::size_t>(tensor.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = tensor.dtype() == DType::bf16 ? to_float(tensor.ptr<bf16>()[i]) : tensor.ptr<float>()[i];
  }
  return values;
}

void write_weights(ops::Device& device, const Model& model, const Parameters& weights) {
  for (const Slab& slab : model.parameters().slabs()) {
    for (const Parameter& parameter : slab.parameters()) {
      const Vector& values = weights.at(parameter.name);
      check(std::ssize(values) == parameter.numel(), "the oracle's parameters have the model's sizes");
      std::ranges::transform(values, slab.master().ptr<float>() + parameter.offset,
                             [](double value) { return static_cast<float>(value); });
    }
  }
  model.parameters().round_weights(device);
}

ModelRun::ModelRun(const LlamaConfig& config, const BatchShape& shape, PrecisionOptions precision,
                   const ops::Backend& backend, WeightCodes weight_codes)
    : ModelRun(std::make_unique<Llama>(config, shape.tokens(), shape.seq_len,
                                       ModelOptions{std::move(precision), weight_codes, {}}),
               shape, backend) {}

ModelRun::ModelRun(std::unique_ptr<Model> model, const BatchShape& shape, const ops::Backend& backend)
    : shape_(shape), model_(std::move(model)) {
  take_persistent(planning_);
  ops::Executor plan(backend, planning_);
  {
    const ProgramScope program(planning_, "train");
    model_->train(plan, batch(), 1.0F, false, nullptr);
  }
  {
    const ProgramScope program(planning_, "validate");
    model_->validate(plan, batch(), nullptr);
  }
  {
    const ProgramScope program(planning_, "cast_weights");
    model_->measure_weights(plan);
    model_->cast_weights(plan);
  }
  memory_ = std::make_unique<Memory>(planning_.finish(), backend.device().allocator());
  take_persistent(*memory_);
  model_->prepare(backend.device());
  run_ = std::make_unique<ops::Executor>(backend, *memory_);
}

void ModelRun::keep_logits() {
  run_->set_observer([this](std::string_view name, const Tensor& tensor) {
    if (name == "output.output" && logits_.empty()) logits_ = widened(tensor);
  });
}

void ModelRun::take_persistent(Memory& memory) {
  inputs_ = memory.allocate("inputs", DType::i32, 1, shape_.tokens(), MemoryClass::workspace);
  targets_ = memory.allocate("targets", DType::i32, 1, shape_.tokens(), MemoryClass::workspace);
  if (shape_.documents.packed) {
    document_start_ = memory.allocate("document_start", DType::i32, 1, shape_.tokens(), MemoryClass::workspace);
    shape_.documents.start = document_start_.ptr<std::int32_t>();
  }
  loss_sum_ = memory.allocate("loss_sum", DType::f64, 1, 1, MemoryClass::workspace);
  model_->allocate(memory, SlabStorage{});
}

Batch ModelRun::batch() const {
  return {shape_, inputs_.ptr<std::int32_t>(), targets_.ptr<std::int32_t>()};
}

void ModelRun::set_weights(const Parameters& weights) {
  write_weights(run_->backend().device(), *model_, weights);
  const ProgramScope program(*memory_, "cast_weights");
  model_->measure_weights(*run_);
  model_->cast_weights(*run_);
}

void ModelRun::copy_tokens(const LlamaBatch& batch) {
  check(batch.batch == shape_.batch && batch.seq_len == shape_.seq_len, "micro-batches have the planned shape");
  std::ranges::copy(batch.tokens, inputs_.ptr<std::int32_t>());
  std::ranges::copy(batch.targets, targets_.ptr<std::int32_t>());
  check(batch.document_start.empty() != shape_.documents.packed, "micro-batches have the planned documents");
  if (document_start_) std::ranges::copy(batch.document_start, document_start_.ptr<std::int32_t>());
}

void ModelRun::train(const LlamaBatch& batch, double gradient_scale, bool accumulate) {
  copy_tokens(batch);
  logits_.clear();
  const ProgramScope program(*memory_, "train");
  Batch tokens = this->batch();
  tokens.token_weight = static_cast<float>(gradient_scale);
  model_->train(*run_, tokens, static_cast<float>(gradient_scale), accumulate, loss_sum_.ptr<double>());
}

void ModelRun::validate(const LlamaBatch& batch) {
  copy_tokens(batch);
  logits_.clear();
  const ProgramScope program(*memory_, "validate");
  model_->validate(*run_, this->batch(), loss_sum_.ptr<double>());
}

Parameters ModelRun::gradients() const {
  Parameters gradients;
  for (const Slab& slab : model_->parameters().slabs()) {
    for (std::size_t i = 0; i < slab.parameters().size(); ++i) {
      gradients[slab.parameters()[i].name] = widened(slab.gradient(i));
    }
  }
  return gradients;
}

ModelStep model_step(const LlamaConfig& config, const Parameters& weights, const LlamaBatch& batch,
                     PrecisionOptions precision, const ops::Backend& backend, WeightCodes weight_codes) {
  ModelRun run(config, shape_of(batch), std::move(precision), backend, weight_codes);
  return model_step(run, weights, batch);
}

ModelStep model_step(ModelRun& run, const Parameters& weights, const LlamaBatch& batch) {
  run.set_weights(weights);
  run.keep_logits();
  const auto counted = static_cast<double>(counted_targets(batch));
  run.train(batch, 1 / counted, false);
  return {run.loss_sum() / counted, run.logits(), run.gradients(), run.executor().fp8_codes_used()};
}

}  // namespace octet::test
