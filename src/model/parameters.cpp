#include "model/parameters.h"

#include "core/random.h"
#include "ops/host_access.h"

namespace octet {

std::size_t Slab::add(Parameter parameter) {
  // Offsets are multiples of 128 elements: 256-byte aligned in bf16, so that every view suits every kernel.
  parameter.offset = (numel_ + 127) / 128 * 128;
  numel_ = parameter.offset + parameter.numel();
  if (parameter.parts.empty()) parameter.parts.push_back({parameter.name, parameter.rows});
  parameters_.push_back(std::move(parameter));
  return parameters_.size() - 1;
}

void Slab::allocate(Memory& memory, const SlabStorage& storage) {
  const auto piece = [&](const char* what, DType dtype, MemoryClass memory_class) {
    return memory.allocate(name_ + "." + what, dtype, 1, numel_, memory_class);
  };
  weights_ = piece("weights", DType::bf16, MemoryClass::parameters);
  if (storage.master) master_ = piece("master", DType::f32, MemoryClass::parameters);
  if (storage.training) {
    gradients_ = piece("gradients", DType::f32, MemoryClass::gradients);
    m_ = piece("first_moment", storage.moments, MemoryClass::optimizer);
    v_ = piece("second_moment", storage.moments, MemoryClass::optimizer);
  }
  maxima_.clear();
  for (const Parameter& parameter : parameters_) {
    Maxima& maxima = maxima_.emplace_back();
    if (!parameter.measured) continue;
    const auto amax = [&](const char* what, std::int64_t count) {
      return memory.allocate(parameter.name + "." + what, DType::bf16, 1, count, MemoryClass::fp8_codes);
    };
    maxima = {amax("row_amax", parameter.rows), amax("column_amax", parameter.cols)};
  }
}

Tensor part_of(const Tensor& array, const Parameter& parameter) {
  const auto offset = static_cast<std::size_t>(parameter.offset) * size_of(array.dtype());
  void* data = array.raw() == nullptr ? nullptr : static_cast<std::byte*>(array.raw()) + offset;
  return {data, array.dtype(), parameter.rows, parameter.cols};
}

ParameterView Slab::view(std::size_t index) const {
  const Parameter& parameter = parameters_.at(index);
  const Maxima& maxima = maxima_.at(index);
  return {part_of(weights(), parameter), gradients_ ? part_of(gradients(), parameter) : Tensor(), maxima.rows.tensor(),
          maxima.columns.tensor()};
}

std::int64_t Parameters::count() const {
  std::int64_t total = 0;
  for (const Slab& slab : slabs_) {
    for (const Parameter& parameter : slab.parameters()) total += parameter.numel();
  }
  return total;
}

void Parameters::initialize(ops::Device& device, std::uint64_t seed) const {
  for (const Slab& slab : slabs_) initialize(device, slab, seed);
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
