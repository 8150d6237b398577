// Checkpoints: everything a run needs to go on as if it had never stopped.
//
// One directory per step, checkpoints/step-00000300/, of three files:
//   model.safetensors      parameters under their checkpoint names: fp32 masters, or bf16 where optimizer.parameters is
//                          bf16; never FP8. Beside them what is trained without gradients, in fp32: experts' biases
//   optimizer.safetensors  m.<name> and v.<name>, fp32 or bf16 as optimizer.moments says
//   state.json             version, step, data position and order, the model's configuration, the step's validation
//                          loss where it was validated, a checksum of itself
// It is written beside as step-00000300.partial, brought to disk file by file, and renamed: a directory without the
// suffix is whole. Tensors carry checksums that loading verifies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/mix.h"
#include "io/config.h"
#include "io/safetensors.h"
#include "model/parameters.h"
#include "train/checkpoint_directory.h"
#include "train/named_tensors.h"

namespace octet {

/// What a checkpoint holds besides tensors.
struct TrainState {
  std::int64_t step = 0;  ///< steps done
  MixState loader;
  std::optional<double> val_loss = {};  ///< after that step, in nats per token; absent where it was not validated
  std::uint64_t tokenizer = 0;          ///< fingerprint of the data's; 0: unknown
};

/// state.json, read.
struct CheckpointState {
  TrainState train;
  nlohmann::json model;  ///< the configuration's section
  nlohmann::json order;  ///< of the data
};

/// Throws UserError for a file that is missing, damaged or of another version.
[[nodiscard]] CheckpointState read_checkpoint_state(const std::filesystem::path& path);

/// What model.safetensors and optimizer.safetensors hold, in their order, as views of slabs.
[[nodiscard]] std::vector<NamedTensor> checkpointed_values(const Parameters& parameters);
[[nodiscard]] std::vector<NamedTensor> checkpointed_moments(const Parameters& parameters);

/// A checkpoint on its way to disk: tensors that lie in host memory, which must stay as it is until they are written.
struct CheckpointContent {
  std::int64_t step = 0;
  std::string state;  ///< the text of state.json
  std::vector<FileTensor> model, optimizer;
};

/// The text of state.json.
[[nodiscard]] std::string checkpoint_state_text(const Config& config, const TrainState& state);

/// Writes a checkpoint below `directory` and then removes those that `policy` does not keep. Throws UserError when the
/// disk refuses; older checkpoints are then untouched. Knows no device: any thread may write.
void write_checkpoint(const std::filesystem::path& directory, const CheckpointContent& content,
                      const Config::Checkpoint& policy);

/// The same with the parameters as they are now, in one go.
void save_checkpoint(const std::filesystem::path& directory, ops::Device& device, const Parameters& parameters,
                     const Config& config, const TrainState& state);

enum class LoadOptimizer : std::uint8_t { yes, no };

/// Fills parameters (and moments) from one checkpoint directory, converting between fp32 and bf16. Throws UserError,
/// and names the tensor, for a damaged file, and the first differences for another model's or another data order's
/// checkpoint.
[[nodiscard]] TrainState load_checkpoint(const std::filesystem::path& checkpoint, ops::Device& device,
                                         const Parameters& parameters, const Config& config, LoadOptimizer optimizer);

/// Fills parameters from a model.safetensors alone, as a checkpoint has it.
void load_values(const std::filesystem::path& file, ops::Device& device, const Parameters& parameters);

}  // namespace octet
