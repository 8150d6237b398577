// A linear layer whose weight lies in a slab, and a norm's gain that does.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace octet {

struct SlabLinear {
  Linear layer;
  Slab* slab;
  std::size_t place;

  /// Once the slab has memory: binds the layer to its weight, and takes memory for cached codes.
  void allocate(Memory& memory) {
    layer.bind(slab->view(place));
    layer.allocate(memory);
  }
  [[nodiscard]] Tensor gradient() const { return slab->gradient(place); }
};

/// What of a layer is no matter of its shape.
struct LinearSetup {
  std::int64_t tokens;                    ///< in a micro-batch
  double standard_deviation;              ///< of initial weights
  SavedInput saved_input;                 ///< in which form the input waits for wgrad
  std::vector<ParameterPart> parts = {};  ///< as checkpoints know them, of a merged weight
};

/// A layer Y [T, n] = X [T, k] W^T: decides its precision and adds its weight to `slab`, which must stay where it is.
[[nodiscard]] inline SlabLinear make_linear(std::string name, std::int64_t n, std::int64_t k, LinearSetup setup,
                                            PrecisionPlan& precision, const ModelOptions& options, Slab& slab) {
  Linear layer(name, n, k, precision.decide(name, setup.tokens, n, k), options.weight_codes, setup.saved_input);
  const bool measured = layer.precision().is_fp8();
  const std::size_t place = slab.add({name + ".weight",
                                      n,
                                      k,
                                      0,
                                      {setup.standard_deviation, 0},
                                      GradientWrites::once,
                                      measured,
                                      std::move(setup.parts)});
  return {std::move(layer), &slab, place};
}

}  // namespace octet
