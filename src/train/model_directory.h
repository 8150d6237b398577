// Where a trained model lies, found from what a user names.
#pragma once

#include <filesystem>

#include "io/config.h"
#include "model/parameters.h"

namespace octet {

struct ModelDirectory {
  std::filesystem::path config;   ///< config.toml
  std::filesystem::path weights;  ///< a checkpoint, or a model.safetensors alone
};

/// Of a run's directory the newest checkpoint; a checkpoint's directory itself, within its run; or a directory of
/// config.toml and model.safetensors. Throws UserError where `named` is none of them.
[[nodiscard]] ModelDirectory find_model(const std::filesystem::path& named);

/// Fills parameters, and nothing that is trained with them. Throws UserError, and names the tensor, for a damaged file
/// or one of another model.
void load_weights(const ModelDirectory& model, ops::Device& device, const Parameters& parameters, const Config& config);

}  // namespace octet
