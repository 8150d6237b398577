// The model that a checkpoint's state.json describes: what its files must hold, without memory for any of it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/memory.h"
#include "io/safetensors.h"
#include "model/model.h"
#include "ops/backend.h"

namespace octet {

class CheckpointedModel {
 public:
  /// `model` is the section of the configuration as state.json has it; `file` is named in errors. Throws UserError for
  /// keys that there are not and for values that no configuration may have.
  CheckpointedModel(const nlohmann::json& model, const std::string& file);

  /// Names and shapes of the tensors of model.safetensors and optimizer.safetensors, without bytes.
  [[nodiscard]] std::vector<FileTensor> values() const;
  [[nodiscard]] std::vector<FileTensor> moments() const;

 private:
  std::unique_ptr<ops::Backend> backend_;
  Memory memory_;
  std::unique_ptr<Model> model_;
};

}  // namespace octet
