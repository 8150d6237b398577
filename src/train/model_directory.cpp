#include "train/model_directory.h"

#include "core/error.h"
#include "train/checkpoint.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

/// RUN/checkpoints/step-N lies two below its run.
fs::path config_above(const fs::path& checkpoint) {
  std::error_code unreadable;
  const fs::path whole = fs::canonical(checkpoint, unreadable);
  return (unreadable ? checkpoint : whole).parent_path().parent_path() / "config.toml";
}

}  // namespace

ModelDirectory find_model(const fs::path& named) {
  if (!is_there(named)) throw UserError("there is no {}: check the path", named.string());
  const fs::path config = named / "config.toml";
  const fs::path weights = named / "model.safetensors";
  if (!is_there(config)) {
    if (is_there(named / "state.json") && is_there(config_above(named))) return {config_above(named), named};
    throw UserError(
        "{} is neither a run, nor a checkpoint within one, nor a model: a run and a model hold a config.toml",
        named.string());
  }
  const auto checkpoints = list_checkpoints(named / "checkpoints");
  if (!checkpoints.empty()) return {config, checkpoints.back()};
  if (is_there(weights)) return {config, weights};
  throw UserError("{} holds neither a checkpoint nor a model.safetensors to generate from", named.string());
}

void load_weights(const ModelDirectory& model, ops::Device& device, const Parameters& parameters,
                  const Config& config) {
  if (model.weights.filename() == "model.safetensors") {
    load_values(model.weights, device, parameters);
  } else {
    (void)load_checkpoint(model.weights, device, parameters, config, LoadOptimizer::no);
  }
}

}  // namespace octet
