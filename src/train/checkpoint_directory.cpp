#include "train/checkpoint_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "train/checkpoint.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kReplaced = ".replaced";
constexpr int kDigits = 8;  // at least

bool holds_only_its_files(const fs::path& checkpoint) {
  constexpr std::array kFiles{kModelFile, kOptimizerFile, kStateFile};
  const auto is_known = [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    return entry.symlink_status().type() == fs::file_type::regular && std::ranges::find(kFiles, name) != kFiles.end();
  };
  std::error_code unreadable;  // its state.json then is as well
  return std::all_of(fs::directory_iterator(checkpoint, unreadable), fs::directory_iterator(), is_known);
}

/// Nothing for a directory that only looks like a checkpoint of ours.
std::optional<RetainedCheckpoint> understand(const fs::path& checkpoint) {
  if (fs::is_symlink(checkpoint) || !holds_only_its_files(checkpoint)) return std::nullopt;
  try {
    const CheckpointState state = read_checkpoint_state(checkpoint / kStateFile);
    if (checkpoint.filename() != checkpoint_name(state.train.step)) return std::nullopt;
    return RetainedCheckpoint{state.train.step, state.train.val_loss};
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// A directory is first renamed so that it never looks like a whole checkpoint, then removed.
void discard(const fs::path& checkpoint) {
  const fs::path doomed = partial_of(checkpoint);
  fs::remove_all(doomed);
  fs::rename(checkpoint, doomed);
  fs::remove_all(doomed);
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  return fmt::format("{}{:0{}}", kPrefix, step, kDigits);
}

std::optional<std::int64_t> step_of_checkpoint(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const std::string_view digits = name.substr(kPrefix.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || step < 0 || checkpoint_name(step) != name) return std::nullopt;
  return step;
}

bool is_partial_checkpoint(std::string_view name) {
  if (!name.ends_with(kPartial)) return false;
  name.remove_suffix(kPartial.size());
  if (name.ends_with(kReplaced)) name.remove_suffix(kReplaced.size());
  return step_of_checkpoint(name).has_value();
}

fs::path partial_of(const fs::path& checkpoint) {
  fs::path partial = checkpoint;
  return partial += kPartial;
}

std::vector<fs::path> list_checkpoints(const fs::path& directory) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none)) {
    const auto step = step_of_checkpoint(entry.path().filename().string());
    if (step && entry.is_directory()) found.emplace_back(*step, entry.path());
  }
  std::ranges::sort(found);
  std::vector<fs::path> paths;
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

void remove_partial_checkpoints(const fs::path& directory) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (is_partial_checkpoint(entry.path().filename().string())) fs::remove_all(entry.path());
  }
}

std::vector<std::size_t> beyond_retention(std::span<const RetainedCheckpoint> checkpoints,
                                          const Config::Checkpoint& policy) {
  const std::size_t count = checkpoints.size();
  std::vector<bool> stays(count, false);
  std::vector<std::size_t> validated;
  for (std::size_t i = 0; i < count; ++i) {
    const RetainedCheckpoint& checkpoint = checkpoints[i];
    const bool newest = count - i <= static_cast<std::size_t>(policy.keep);
    stays[i] = newest || (policy.keep_every > 0 && checkpoint.step % policy.keep_every == 0);
    if (checkpoint.val_loss && std::isfinite(*checkpoint.val_loss)) validated.push_back(i);
  }
  std::ranges::sort(validated, [&](std::size_t a, std::size_t b) {
    const double loss_a = *checkpoints[a].val_loss;
    const double loss_b = *checkpoints[b].val_loss;
    return loss_a != loss_b ? loss_a < loss_b : a > b;
  });
  validated.resize(std::min(validated.size(), static_cast<std::size_t>(policy.keep_best)));
  for (const std::size_t best : validated) stays[best] = true;
  std::vector<std::size_t> beyond;
  for (std::size_t i = 0; i < count; ++i) {
    if (!stays[i]) beyond.push_back(i);
  }
  return beyond;
}

void apply_retention(const fs::path& directory, const Config::Checkpoint& policy) {
  std::vector<fs::path> paths;
  std::vector<RetainedCheckpoint> checkpoints;
  for (const fs::path& path : list_checkpoints(directory)) {
    if (const auto known = understand(path)) {
      paths.push_back(path);
      checkpoints.push_back(*known);
    }
  }
  for (const std::size_t i : beyond_retention(checkpoints, policy)) discard(paths[i]);
}

}  // namespace octet
