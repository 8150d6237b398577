// The directory that a run's checkpoints lie in: their names, which are whole, and which ones stay.
//
// A whole checkpoint is a directory step-00000300; what ends in .partial is unfinished or doomed. Nothing else there
// is ever touched: a checkpoint is removed only where its state.json can be read and agrees with its name, and where
// it holds no file but its three.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/config.h"

namespace octet {

/// The files of a checkpoint.
inline constexpr std::string_view kModelFile = "model.safetensors";
inline constexpr std::string_view kOptimizerFile = "optimizer.safetensors";
inline constexpr std::string_view kStateFile = "state.json";

/// "step-00000300".
[[nodiscard]] std::string checkpoint_name(std::int64_t step);
/// The step of such a name; nothing for any other.
[[nodiscard]] std::optional<std::int64_t> step_of_checkpoint(std::string_view name);
/// Whether it is the name of a checkpoint that is being written, replaced or removed.
[[nodiscard]] bool is_partial_checkpoint(std::string_view name);
/// Where the checkpoint is written before it gets its name.
[[nodiscard]] std::filesystem::path partial_of(const std::filesystem::path& checkpoint);

/// The whole checkpoints below `directory`, oldest first; empty where there are none.
[[nodiscard]] std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& directory);

/// Removes what an interrupted save or removal has left below `directory`.
void remove_partial_checkpoints(const std::filesystem::path& directory);

/// What decides whether a checkpoint stays. The loss is in nats per token, absent where the step was not validated.
struct RetainedCheckpoint {
  std::int64_t step = 0;
  std::optional<double> val_loss;
};

/// Of checkpoints in the order of their steps, the indices of those that go: neither among the newest `keep`, nor of a
/// step that is a multiple of `keep_every`, nor among the `keep_best` with the lowest finite losses, of which the newer
/// wins a tie.
[[nodiscard]] std::vector<std::size_t> beyond_retention(std::span<const RetainedCheckpoint> checkpoints,
                                                        const Config::Checkpoint& policy);

/// Removes the checkpoints below `directory` that `policy` does not keep. Those that it does not understand stay and
/// count for nothing.
void apply_retention(const std::filesystem::path& directory, const Config::Checkpoint& policy);

}  // namespace octet
