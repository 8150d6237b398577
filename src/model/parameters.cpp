#include "model/parameters.h"

#include "core/random.h"
#include "ops/host_access.h"

namespace octet {
namespace {

/// Room for `count` elements at the end of an array; returns where. Offsets are multiples of 128 elements: 256-byte
/// aligned in bf16, so that every view suits every kernel.
std::int64_t append(std::int64_t& numel, std::int64_t count) {
  const std::int64_t offset = (numel + 127) / 128 * 128;
  numel = offset + count;
  return offset;
}

Tensor part_at(const Tensor& array, std::int64_t offset, const Parameter& parameter) {
  const auto bytes = static_cast<std::size_t>(offset) * size_of(array.dtype());
  void* data = array.raw() == nullptr ? nullptr : static_cast<std::byte*>(array.raw()) + bytes;
  return {data, array.dtype(), parameter.rows, parameter.cols};
}

}  // namespace

std::size_t Slab::add(Parameter parameter) {
  parameter.offset = append(numel_, parameter.numel());
  parameter.gradient_offset = append(gradients_of(parameter).numel, parameter.numel());
  if (parameter.parts.empty()) parameter.parts.push_back({parameter.name, parameter.rows});
  parameters_.push_back(std::move(parameter));
  return parameters_.size() - 1;
}

void Slab::allocate(Memory& memory, const SlabStorage& storage) {
  storage_ = storage;
  const auto piece = [&](const char* what, DType dtype, MemoryClass memory_class) {
    return memory.allocate(name_ + "." + what, dtype, 1, numel_, memory_class);
  };
  weights_ = piece("weights", DType::bf16, MemoryClass::parameters);
  if (storage.master) master_ = piece("master", DType::f32, MemoryClass::parameters);
  if (storage.training) {
    if (storage.gradient_life == GradientLife::run) take_gradients(memory);
    m_ = piece("first_moment", storage.moments, MemoryClass::optimizer);
    v_ = piece("second_moment", storage.moments, MemoryClass::optimizer);
  }
  maxima_.clear();
  for (const Parameter& parameter : parameters_) {
    Maxima& maxima = maxima_.emplace_back();
    if (!parameter.measured) continue;
    const auto amax = [&](const char* what, std::int64_t matrices, std::int64_t count) {
      return memory.allocate(parameter.name + "." + what, DType::bf16, matrices, count, MemoryClass::fp8_codes);
    };
    maxima = {amax("row_amax", 1, parameter.rows), amax("column_amax", parameter.matrices, parameter.cols)};
  }
}

Tensor part_of(const Tensor& array, const Parameter& parameter) {
  return part_at(array, parameter.offset, parameter);
}

ParameterView Slab::view(std::size_t index) const {
  const Parameter& parameter = parameters_.at(index);
  const Maxima& maxima = maxima_.at(index);
  return {part_of(weights(), parameter), maxima.rows.tensor(), maxima.columns.tensor()};
}

// ---- gradients ------------------------------------------------------------------------------------------------------

Slab::Gradients& Slab::gradients_of(const Parameter& parameter) {
  return parameter.gradient_is_written_once() ? written_once_ : summed_;
}

Tensor Slab::gradient(std::size_t index) const {
  const Parameter& parameter = parameters_.at(index);
  const bool once = parameter.gradient_is_written_once();
  const Buffer& array = once ? written_once_.elements : summed_.elements;
  if (array) return part_at(array.tensor(), parameter.gradient_offset, parameter);
  return {nullptr, once ? storage_.gradients : DType::f32, parameter.rows, parameter.cols};
}

std::vector<Tensor> Slab::gradients() const {
  std::vector<Tensor> arrays;
  for (const Gradients* each : {&written_once_, &summed_}) {
    if (each->elements) arrays.push_back(each->elements.tensor());
  }
  return arrays;
}

void Slab::take_gradients(Memory& memory) {
  const auto take = [&](Gradients& gradients, const char* what, DType dtype) {
    if (gradients.numel == 0) return;
    gradients.elements = memory.allocate(name_ + "." + what, dtype, 1, gradients.numel, MemoryClass::gradients);
  };
  take(written_once_, "gradients", storage_.gradients);
  take(summed_, "summed_gradients", DType::f32);
}

void Slab::begin_gradients(ops::Executor& run) {
  const bool taken = written_once_.elements || summed_.elements;
  if (!taken) take_gradients(run.memory());
  for (const Gradients* each : {&written_once_, &summed_}) {
    if (each->elements) clear(run, *each);
  }
}

/// All but the gradients that are written whole, in as few pieces as there are. The gradient's norm goes over whole
/// arrays.
void Slab::clear(ops::Executor& run, const Gradients& gradients) const {
  const Tensor& array = gradients.elements.tensor();
  const auto zero = [&](std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    const auto element = static_cast<std::int64_t>(size_of(array.dtype()));
    void* data = array.raw() == nullptr ? nullptr : static_cast<std::byte*>(array.raw()) + begin * element;
    run(ops::Zero{data, (end - begin) * element});
  };
  std::int64_t begin = 0;
  for (const Parameter& parameter : parameters_) {
    const bool here = parameter.gradient_is_written_once() == (&gradients == &written_once_);
    if (!here || parameter.gradient_starts_at_zero()) continue;
    zero(begin, parameter.gradient_offset);
    begin = parameter.gradient_offset + parameter.numel();
  }
  zero(begin, gradients.numel);
}

void Slab::end_gradients() {
  if (storage_.gradient_life == GradientLife::run) return;
  written_once_.elements.reset();
  summed_.elements.reset();
}

// ---- all slabs ------------------------------------------------------------------------------------------------------

std::int64_t Parameters::count() const {
  std::int64_t total = 0;
  for (const Slab& slab : slabs_) {
    for (const Parameter& parameter : slab.parameters()) total += parameter.numel();
  }
  return total;
}

void Parameters::initialize(ops::Device& device, std::uint64_t seed) const {
  for (const Slab& slab : slabs_) initialize(device, slab, seed);
  for (const TrainedState& state : states_) {
    const std::vector<float> zeros(static_cast<std::size_t>(state.count));
    device.upload(state.values.tensor().raw(), zeros.data(), state.values.tensor().bytes());
  }
}

void Parameters::initialize(ops::Device& device, const Slab& slab, std::uint64_t seed) {
  for (const Parameter& parameter : slab.parameters()) {
    const std::uint64_t stream = stream_of(parameter.name);
    const auto initial = [&](std::int64_t i) {
      double value = parameter.initial.constant;
      if (parameter.initial.standard_deviation > 0) {
        value += parameter.initial.standard_deviation * normal(seed, stream, static_cast<std::uint64_t>(i));
      }
      return static_cast<float>(value);
    };
    const ops::HostElements<bf16> weight(device, part_of(slab.weights(), parameter));
    bf16* weights = weight.elements().data();
    if (slab.has_master()) {
      const ops::HostElements<float> master(device, part_of(slab.master(), parameter));
      float* masters = master.elements().data();
#pragma omp parallel for
      for (std::int64_t i = 0; i < parameter.numel(); ++i) weights[i] = to_bf16(masters[i] = initial(i));
    } else {
#pragma omp parallel for
      for (std::int64_t i = 0; i < parameter.numel(); ++i) weights[i] = to_bf16(initial(i));
    }
  }
}

void Parameters::round_weights(ops::Device& device) const {
  for (const Slab& slab : slabs_) {
    if (!slab.has_master()) continue;
    const ops::HostBytes master(device, slab.master());
    const ops::HostElements<bf16> weights(device, slab.weights());
    const float* from = master.as<float>().data();
    bf16* to = weights.elements().data();
#pragma omp parallel for
    for (std::int64_t i = 0; i < slab.numel(); ++i) to[i] = to_bf16(from[i]);
  }
}

}  // namespace octet
