#include "train/checkpoint_verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "io/text.h"
#include "train/checkpoint.h"
#include "train/checkpointed_model.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// The step of a whole or partial checkpoint's directory.
std::optional<std::int64_t> step_of_directory(const fs::path& path) {
  const std::string name = path.filename().string();
  if (const auto step = step_of_checkpoint(name)) return step;
  if (!is_partial_checkpoint(name)) return std::nullopt;
  return step_of_checkpoint(name.substr(0, name.find('.')));
}

/// "runs/a/" as "runs/a", whose last part is its name.
fs::path without_end_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

std::vector<fs::path> checkpoint_directories(const fs::path& given) {
  const fs::path path = without_end_slash(given);
  const std::string name = printable(path.string());
  std::error_code none;
  if (!fs::exists(path, none)) throw UserError("there is no {}: check the path", name);
  if (!fs::is_directory(path, none)) throw UserError("{} is a file: name the directory of a run or checkpoint", name);
  if (step_of_directory(fs::absolute(path)) || fs::exists(path / kStateFile, none)) return {path};
  const fs::path directory = fs::is_directory(path / "checkpoints", none) ? path / "checkpoints" : path;
  std::vector<std::pair<std::int64_t, fs::path>> found;
  for (const auto& entry : fs::directory_iterator(directory, none)) {
    const auto step = step_of_directory(entry.path());
    if (step && entry.is_directory(none)) found.emplace_back(*step, entry.path());
  }
  if (found.empty()) {
    throw UserError("{} holds no checkpoints: name the directory of a run, its checkpoints/, or one checkpoint", name);
  }
  std::ranges::sort(found);
  std::vector<fs::path> paths;
  for (auto& [step, checkpoint] : found) paths.push_back(std::move(checkpoint));
  return paths;
}

bool is_whole(const fs::path& checkpoint) {
  return !is_partial_checkpoint(checkpoint.filename().string());
}

std::uint64_t bytes_below(const fs::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code gone;  // a run may be at work
  for (const auto& entry : fs::directory_iterator(directory, gone)) {
    const std::uintmax_t size = entry.file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

std::time_t time_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mtime : 0;
}

/// What the header of model.safetensors says.
void read_model_header(CheckpointInfo& info) {
  const SafetensorsFile file = SafetensorsFile::open(info.path / kModelFile);
  std::set<std::string_view> dtypes;
  for (const FileTensor& tensor : file.tensors()) {
    dtypes.insert(file_dtype_name(tensor.dtype));
    info.parameters += static_cast<std::int64_t>(tensor.bytes.size() / file_dtype_bytes(tensor.dtype));
  }
  info.dtype = fmt::format("{}", fmt::join(dtypes, ", "));
}

CheckpointInfo info_of(const fs::path& checkpoint) {
  CheckpointInfo info;
  info.path = checkpoint;
  info.whole = is_whole(checkpoint);
  info.step = step_of_directory(fs::absolute(checkpoint)).value_or(0);
  info.bytes = bytes_below(checkpoint);
  info.written = time_of(checkpoint / kStateFile);
  if (info.written == 0) info.written = time_of(checkpoint);
  if (!info.whole) return info;
  try {
    const CheckpointState state = read_checkpoint_state(checkpoint / kStateFile);
    info.step = state.train.step;
    info.val_loss = state.train.val_loss;
    read_model_header(info);
  } catch (const UserError& error) {
    info.problem = error.what();
  }
  return info;
}

/// Verifies one checkpoint and takes notes.
class Verification {
 public:
  Verification(const fs::path& checkpoint, const VerifyProgress& progress) : progress_(progress) {
    result_.path = checkpoint;
  }

  VerifiedCheckpoint run() {
    open(kModelFile);
    open(kOptimizerFile);
    check_against_model();
    for (const auto& [name, file] : files_) check_tensors(name, file);
    check_names();
    return std::move(result_);
  }

 private:
  template <typename... Args>
  void fault(std::string_view file, fmt::format_string<Args...> format, Args&&... args) {
    result_.faults.push_back(fmt::format("{}: {}", file, fmt::format(format, std::forward<Args>(args)...)));
  }

  /// What a reader of files says, which names them itself.
  template <typename Read>
  void note_faults(const Read& read) {
    try {
      read();
    } catch (const UserError& error) {
      result_.faults.emplace_back(error.what());
    }
  }

  void open(std::string_view name) {
    note_faults([&] {
      const SafetensorsFile& file = files_.emplace(name, SafetensorsFile::open(result_.path / name)).first->second;
      for (const FileTensor& tensor : file.tensors()) total_ += tensor.bytes.size();
    });
  }

  void check_against_model() {
    note_faults([&] {
      const fs::path path = result_.path / kStateFile;
      const CheckpointState state = read_checkpoint_state(path);
      const std::string name = fs::absolute(result_.path).filename().string();
      const auto step = step_of_checkpoint(name);
      if (step && *step != state.train.step) {
        fault(kStateFile, "it is of step {}, its directory is {}", state.train.step, printable(name));
      }
      const CheckpointedModel model(state.model, path.string());
      check_shapes(kModelFile, model.values());
      check_shapes(kOptimizerFile, model.moments());
    });
  }

  void check_shapes(std::string_view name, const std::vector<FileTensor>& expected) {
    const auto file = files_.find(name);
    if (file == files_.end()) return;  // that is a fault already
    std::set<std::string_view> known;
    for (const FileTensor& wanted : expected) {
      known.insert(wanted.name);
      const FileTensor* tensor = file->second.find(wanted.name);
      if (tensor == nullptr) {
        fault(name, "tensor \"{}\" is missing", wanted.name);
      } else if (tensor->shape != wanted.shape) {
        fault(name, "tensor \"{}\" is [{}], the model has [{}]", wanted.name, fmt::join(tensor->shape, ", "),
              fmt::join(wanted.shape, ", "));
      } else if (tensor->dtype != FileDType::f32 && tensor->dtype != FileDType::bf16) {
        fault(name, "tensor \"{}\" is {}, not F32 or BF16", wanted.name, file_dtype_name(tensor->dtype));
      }
    }
    for (const FileTensor& tensor : file->second.tensors()) {
      if (!known.contains(tensor.name)) fault(name, "the model has no tensor \"{}\"", printable(tensor.name));
    }
  }

  void check_tensors(std::string_view name, const SafetensorsFile& file) {
    for (const FileTensor& tensor : file.tensors()) {
      const std::optional<bool> matches = file.matches_checksum(tensor);
      if (!matches) fault(name, "tensor \"{}\" has no checksum", printable(tensor.name));
      if (matches && !*matches) fault(name, "tensor \"{}\" does not match its checksum", printable(tensor.name));
      ++result_.tensors;
      result_.bytes += tensor.bytes.size();
      if (progress_) progress_(result_.bytes, total_);
    }
  }

  /// What a checkpoint does not hold: its run would not remove it.
  void check_names() {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(result_.path, none)) {
      const std::string name = entry.path().filename().string();
      if (name == kModelFile || name == kOptimizerFile || name == kStateFile) continue;
      fault(printable(name), "a checkpoint holds no such file");
    }
  }

  const VerifyProgress& progress_;
  VerifiedCheckpoint result_;
  std::map<std::string_view, SafetensorsFile> files_;
  std::uint64_t total_ = 0;
};

}  // namespace

std::vector<CheckpointInfo> list_checkpoint_infos(const fs::path& path) {
  std::vector<CheckpointInfo> infos;
  for (const fs::path& checkpoint : checkpoint_directories(path)) infos.push_back(info_of(checkpoint));
  return infos;
}

std::vector<fs::path> find_checkpoints(const fs::path& path) {
  std::vector<fs::path> checkpoints = checkpoint_directories(path);
  std::erase_if(checkpoints, [](const fs::path& checkpoint) { return !is_whole(checkpoint); });
  if (checkpoints.empty()) {
    throw UserError("{} holds no whole checkpoint, only what an interrupted save has left", printable(path.string()));
  }
  return checkpoints;
}

VerifiedCheckpoint verify_checkpoint(const fs::path& checkpoint, const VerifyProgress& progress) {
  return Verification(checkpoint, progress).run();
}

}  // namespace octet
