// What checkpoints on disk are, and whether they are what they say: for octet checkpoint.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace octet {

/// A checkpoint as a look at names, sizes and headers shows it.
struct CheckpointInfo {
  std::filesystem::path path;
  std::int64_t step = 0;
  bool whole = false;       ///< has its name, as only whole ones do
  std::uint64_t bytes = 0;  ///< of its files
  std::time_t written = 0;  ///< when its state.json was, or for want of one the directory
  std::optional<double> val_loss;
  std::int64_t parameters = 0;  ///< elements of model.safetensors; 0 where its header cannot be read
  std::string dtype;            ///< of them, "F32", or "BF16, F32" where there are both
  std::string problem;          ///< why nothing more is known; empty where state and header can be read
};

/// All checkpoints, whole and partial, oldest first, of `path`: a run's directory, its directory of checkpoints, or one
/// checkpoint. Throws UserError where it is none of these or holds none.
[[nodiscard]] std::vector<CheckpointInfo> list_checkpoint_infos(const std::filesystem::path& path);
/// The whole ones' directories. Throws UserError as well where all of them are partial.
[[nodiscard]] std::vector<std::filesystem::path> find_checkpoints(const std::filesystem::path& path);

struct VerifiedCheckpoint {
  std::filesystem::path path;
  std::int64_t tensors = 0;         ///< that were checked
  std::uint64_t bytes = 0;          ///< of them
  std::vector<std::string> faults;  ///< each a line that names its file; none: all is well
};

/// Called as tensors are read, with the bytes of them so far and in all.
using VerifyProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Holds a checkpoint against its own checksums, and its tensors' names, shapes and dtypes against those of the model
/// that its state.json describes. Goes on after a fault, as far as what is left makes sense.
[[nodiscard]] VerifiedCheckpoint verify_checkpoint(const std::filesystem::path& checkpoint,
                                                   const VerifyProgress& progress = {});

}  // namespace octet
