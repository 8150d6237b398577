// Everything that some steps of a small engine leave behind, to be compared bit by bit.
#pragma once

#include <cstddef>
#include <vector>

#include "ops/host_access.h"
#include "train/small_engine.h"

namespace octet::test {

struct Trained {
  std::vector<double> losses, norms;
  std::vector<std::vector<std::byte>> gradients, parameters;
  friend bool operator==(const Trained&, const Trained&) = default;
};

inline std::vector<std::byte> bytes_of(const Engine& engine, const Tensor& tensor) {
  const ops::HostBytes bytes(engine.backend().device(), tensor);
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

/// Three steps; `compute` takes the engine and the step, and returns its outcome.
template <typename Compute>
Trained train_with(Engine& engine, const Compute& compute, int steps = 3) {
  Trained trained;
  for (int step = 1; step <= steps; ++step) {
    const StepOutcome outcome = compute(engine, step);
    trained.losses.push_back(outcome.loss);
    trained.norms.push_back(outcome.grad_norm);
    for (const Slab& slab : engine.model().parameters().slabs()) {
      for (const Tensor& gradients : slab.gradients()) trained.gradients.push_back(bytes_of(engine, gradients));
    }
    engine.update(step, 1e-2, outcome.grad_norm);
  }
  for (const Slab& slab : engine.model().parameters().slabs()) {
    trained.parameters.push_back(bytes_of(engine, slab.values()));
  }
  return trained;
}

inline Trained train(Engine& engine, int steps = 3) {
  return train_with(
      engine, [](Engine& each, int) { return each.compute_gradients(); }, steps);
}

}  // namespace octet::test
