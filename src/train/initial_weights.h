// Weights that a run begins with, from a model on disk: Hugging Face's, or one of Octet's.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "convert/model_source.h"
#include "io/config.h"
#include "model/parameters.h"
#include "ops/backend.h"

namespace octet {

class InitialWeights {
 public:
  /// Opens the model and holds it against `parameters`, which have memory, and against the model of `config`. UserError
  /// names the first differences: keys of [model] that change what is computed, tensors that are missing, superfluous
  /// or of another shape.
  InitialWeights(const std::filesystem::path& directory, const Parameters& parameters, const Config& config);

  /// Overwrites the values of all parameters, read tensor by tensor; moments stay as they are.
  void fill(ops::Device& device, const Parameters& parameters) const;

 private:
  ModelSource source_;
};

}  // namespace octet
