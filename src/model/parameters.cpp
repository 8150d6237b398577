#include "model/parameters.h"

#include <algorithm>

#include "core/random.h"

namespace octet {

std::size_t Slab::add(Parameter parameter) {
  check(parameters_.empty() || parameters_.back().decays || !parameter.decays,
        "parameters that decay come first in a slab");
  // Offsets are multiples of 128 elements: 256-byte aligned in bf16, so that every view suits every kernel.
  parameter.offset = (numel_ + 127) / 128 * 128;
  numel_ = parameter.offset + parameter.numel();
  if (parameter.decays) decaying_ = numel_;
  if (parameter.parts.empty()) parameter.parts.push_back({parameter.name, parameter.rows});
  parameters_.push_back(std::move(parameter));
  return parameters_.size() - 1;
}

void Slab::allocate(Memory& memory, SlabUse use) {
  const auto piece = [&](const char* what, DType dtype, MemoryClass memory_class) {
    return memory.allocate(name_ + "." + what, dtype, 1, numel_, memory_class);
  };
  weights_ = piece("weights", DType::bf16, MemoryClass::parameters);
  master_ = piece("master", DType::f32, MemoryClass::parameters);
  if (use == SlabUse::inference) return;
  gradients_ = piece("gradients", DType::f32, MemoryClass::gradients);
  m_ = piece("first_moment", DType::f32, MemoryClass::optimizer);
  v_ = piece("second_moment", DType::f32, MemoryClass::optimizer);
}

ParameterView Slab::view(std::size_t index) const {
  const Parameter& parameter = parameters_.at(index);
  const auto part = [&](const Tensor& whole) {
    const auto offset = static_cast<std::size_t>(parameter.offset) * size_of(whole.dtype());
    void* data = whole.raw() == nullptr ? nullptr : static_cast<std::byte*>(whole.raw()) + offset;
    return Tensor(data, whole.dtype(), parameter.rows, parameter.cols);
  };
  return {part(weights()), gradients_ ? part(gradients()) : Tensor()};
}

std::int64_t Parameters::count() const {
  std::int64_t total = 0;
  for (const Slab& slab : slabs_) {
    for (const Parameter& parameter : slab.parameters()) total += parameter.numel();
  }
  return total;
}

void Parameters::initialize(std::uint64_t seed) const {
  for (const Slab& slab : slabs_) {
    float* master = slab.master().ptr<float>();
    std::fill_n(master, slab.numel(), 0.0F);
    for (const Parameter& parameter : slab.parameters()) {
      const std::uint64_t stream = stream_of(parameter.name);
      float* values = master + parameter.offset;
#pragma omp parallel for
      for (std::int64_t i = 0; i < parameter.numel(); ++i) {
        double value = parameter.initial.constant;
        if (parameter.initial.standard_deviation > 0) {
          value += parameter.initial.standard_deviation * normal(seed, stream, static_cast<std::uint64_t>(i));
        }
        values[i] = static_cast<float>(value);
      }
    }
  }
  round_weights();
}

void Parameters::round_weights() const {
  for (const Slab& slab : slabs_) {
    const float* master = slab.master().ptr<float>();
    bf16* weights = slab.weights().ptr<bf16>();
#pragma omp parallel for
    for (std::int64_t i = 0; i < slab.numel(); ++i) weights[i] = to_bf16(master[i]);
  }
}

}  // namespace octet
