// Checkpoints: everything a run needs to go on as if it had never stopped.
//
// One directory per step, checkpoints/step-00000300/, of three files:
//   model.safetensors      parameters under their checkpoint names: fp32 masters, or bf16 where optimizer.parameters is
//                          bf16; never FP8. Beside them what is trained without gradients, in fp32: experts' biases
//   optimizer.safetensors  m.<name> and v.<name>, fp32 or bf16 as optimizer.moments says
//   state.json             version, step, data position and order, the model's configuration, a checksum of itself
// It is written beside as step-00000300.partial, brought to disk file by file, and renamed: a directory without the
// suffix is whole. Tensors carry checksums that loading verifies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "data/loader.h"
#include "io/config.h"
#include "model/parameters.h"

namespace octet {

/// What a checkpoint holds besides tensors.
struct TrainState {
  std::int64_t step = 0;  ///< steps done
  LoaderState loader;
};

/// Writes the checkpoint of `state.step` below `directory` and then removes all but the newest `keep`.
/// Throws UserError when the disk refuses; older checkpoints are then untouched.
void save_checkpoint(const std::filesystem::path& directory, ops::Device& device, const Parameters& parameters,
                     const Config& config, const TrainState& state, std::int64_t keep);

/// The whole checkpoints below `directory`, oldest first; empty where there are none.
[[nodiscard]] std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& directory);

enum class LoadOptimizer : std::uint8_t { yes, no };

/// Fills parameters (and moments) from one checkpoint directory, converting between fp32 and bf16. Throws UserError,
/// and names the tensor, for a damaged file, and the first differences for another model's or another data order's
/// checkpoint.
[[nodiscard]] TrainState load_checkpoint(const std::filesystem::path& checkpoint, ops::Device& device,
                                         const Parameters& parameters, const Config& config, LoadOptimizer optimizer);

/// Fills parameters from a model.safetensors alone, as a checkpoint has it.
void load_values(const std::filesystem::path& file, ops::Device& device, const Parameters& parameters);

}  // namespace octet
