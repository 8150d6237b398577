#include "convert/model_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "convert/model_openers.h"
#include "core/error.h"
#include "io/text.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// The newest whole checkpoint of a run.
std::optional<fs::path> newest_checkpoint(const fs::path& run) {
  std::optional<fs::path> newest;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("step-") || name.ends_with(".partial") || !entry.is_directory(none)) continue;
    if (!newest || *newest < entry.path()) newest = entry.path();  // steps are zero-padded
  }
  return newest;
}

}  // namespace

ModelSource ModelSource::open(const fs::path& directory) {
  const std::string name = printable(directory.string());
  std::error_code none;
  if (!fs::is_directory(directory, none)) {
    throw UserError("{} is not a directory: name one with a model of Hugging Face's or of Octet", name);
  }
  if (fs::exists(directory / "checkpoints", none)) {
    if (const auto checkpoint = newest_checkpoint(directory)) return OctetOpener::open(*checkpoint);
    throw UserError("{} is a run without a checkpoint: train it first", name);
  }
  const bool is_octet = fs::exists(directory / "config.toml", none) || fs::exists(directory / "state.json", none);
  const bool is_hugging_face = fs::exists(directory / "config.json", none);
  if (is_octet && is_hugging_face) {
    throw UserError("{} holds config.json as well as files of Octet: which of them describes the model?", name);
  }
  if (is_octet) return OctetOpener::open(directory);
  if (is_hugging_face) return HuggingFaceOpener::open(directory);
  throw UserError("{} holds no model: neither config.json of Hugging Face's, nor a run or checkpoint of Octet", name);
}

void verify(const SourceTensor& tensor) {
  const FileTensor* stored = tensor.stored.tensor;
  if (stored == nullptr || tensor.file->matches_checksum(*stored).value_or(true)) return;
  throw UserError("tensor \"{}\" does not match its checksum; the file is damaged, fetch or write it again",
                  printable(stored->name));
}

std::string describe(const FileTensor& tensor) {
  return fmt::format("{} [{}]", file_dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "));
}

void refuse_differences(const fs::path& where, const std::vector<std::string>& differences) {
  if (differences.empty()) return;
  const std::size_t named = std::min<std::size_t>(differences.size(), 3);
  const std::string others =
      differences.size() > named ? fmt::format(" and {} more", differences.size() - named) : std::string();
  throw UserError(
      "{} does not hold the model of its configuration: {}{}; fetch or write it again", printable(where.string()),
      fmt::join(differences.begin(), differences.begin() + static_cast<std::ptrdiff_t>(named), "; "), others);
}

}  // namespace octet
