#include "convert/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "convert/hugging_face_config.h"
#include "convert/model_openers.h"
#include "core/error.h"
#include "fp8/bf16.h"
#include "io/config_text.h"
#include "io/safetensors_writer.h"
#include "io/text.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_elements = 1 << 20;
constexpr const char* kept_config = "source_config.json";  // Hugging Face's, beside Octet's

/// What says how text becomes tokens and back, and how to generate.
constexpr std::array side_file_names = {"tokenizer.json",
                                        "tokenizer_config.json",
                                        "tokenizer.model",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "chat_template.jinja",
                                        "generation_config.json"};

FileDType written_dtype(const SourceTensor& tensor, WrittenDType wanted) {
  if (tensor.names.router_bias || wanted == WrittenDType::fp32) return FileDType::f32;
  if (wanted == WrittenDType::bf16) return FileDType::bf16;
  const FileDType stored = tensor.stored.tensor->dtype;
  if (stored == FileDType::f8_e4m3) return FileDType::bf16;
  return stored == FileDType::f16 ? FileDType::f32 : stored;
}

std::uint64_t planned_bytes(const PlannedTensor& tensor) {
  return tensor_bytes(tensor.target.dtype, tensor.target.shape);
}

std::vector<PlannedTensor> plan_tensors(const ModelSource& source, ModelLayout to, WrittenDType dtype) {
  std::vector<PlannedTensor> planned;
  for (const SourceTensor& tensor : source.tensors()) {
    const TensorNames& names = tensor.names;
    planned.push_back(
        {&tensor,
         {to == ModelLayout::octet ? names.octet : names.hugging_face, written_dtype(tensor, dtype), names.shape, {}}});
  }
  return planned;
}

/// Files of at most `limit` bytes, unless a tensor alone has more; wider elements first in each, for alignment.
std::vector<PlannedFile> cut_into_files(std::vector<PlannedTensor> tensors, std::uint64_t limit) {
  std::vector<PlannedFile> files;
  std::uint64_t filled = 0;
  for (PlannedTensor& tensor : tensors) {
    const std::uint64_t bytes = planned_bytes(tensor);
    if (files.empty() || (filled > 0 && bytes > limit - std::min(filled, limit))) {
      files.emplace_back();
      filled = 0;
    }
    files.back().tensors.push_back(std::move(tensor));
    filled += bytes;
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].name = files.size() == 1 ? std::string(weights_file)
                                      : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files.size());
    std::stable_sort(files[i].tensors.begin(), files[i].tensors.end(), [](const auto& a, const auto& b) {
      return file_dtype_bytes(a.target.dtype) > file_dtype_bytes(b.target.dtype);
    });
  }
  return files;
}

/// Tokens of context that the configuration speaks of.
std::int64_t context_of(const Config& config) {
  const Config::RopeScaling& rope = config.model.rope_scaling;
  if (!rope.enabled()) return config.training.seq_len;
  const double scaled = rope.factor * static_cast<double>(rope.original_max_seq_len);
  constexpr double most = 1 << 30;
  return std::max(config.training.seq_len, static_cast<std::int64_t>(std::floor(std::min(scaled, most))));
}

/// The dtype of most bytes.
std::string_view main_dtype(std::span<const PlannedTensor> tensors) {
  std::uint64_t bf16_bytes = 0;
  std::uint64_t all = 0;
  for (const PlannedTensor& tensor : tensors) {
    all += planned_bytes(tensor);
    if (tensor.target.dtype == FileDType::bf16) bf16_bytes += planned_bytes(tensor);
  }
  return 2 * bf16_bytes > all ? "bfloat16" : "float32";
}

/// A file of that name, unless it is a link, which may lead anywhere.
bool holds(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(fs::symlink_status(path, none));
}

fs::path like_config(const ModelSource& source, const ConvertOptions& options) {
  if (!options.like) return source.directory() / kept_config;
  if (holds(*options.like / "config.json")) return *options.like / "config.json";
  throw UserError("{} holds no config.json: name a directory of Hugging Face's", printable(options.like->string()));
}

std::string published_config(const ModelSource& source, const ConvertOptions& options,
                             std::span<const PlannedTensor> tensors) {
  const Config& config = source.config().config;
  Publication publication{main_dtype(tensors), context_of(config), {}};
  if (const fs::path like = like_config(source, options); holds(like)) publication.like = read_file(like);
  return hugging_face_config(config.model, publication);
}

void check_free(const fs::path& target) {
  std::error_code none;
  if (!fs::exists(fs::symlink_status(target, none))) return;
  if (fs::is_directory(target, none) && fs::is_empty(target, none)) return;
  throw UserError("{} is there already: choose another place, or remove it", printable(target.string()));
}

/// Writes one file's tensors, piece by piece.
class FileWriter {
 public:
  FileWriter(const PlannedFile& file, const fs::path& directory, ModelLayout layout, const ConvertProgress& progress,
             std::uint64_t& done)
      : file_(file),
        writer_(directory / file.name, targets(file), metadata(layout)),
        progress_(progress),
        done_(done) {}

  void write() {
    for (const PlannedTensor& tensor : file_.tensors) write(tensor);
    writer_.commit();
  }

 private:
  [[nodiscard]] static std::vector<FileTensor> targets(const PlannedFile& file) {
    std::vector<FileTensor> tensors;
    for (const PlannedTensor& tensor : file.tensors) tensors.push_back(tensor.target);
    return tensors;
  }
  /// transformers reads the framework there.
  [[nodiscard]] static FileMetadata metadata(ModelLayout layout) {
    return {{"format", layout == ModelLayout::octet ? "octet" : "pt"}};
  }

  void write(const PlannedTensor& tensor) {
    const FileTensor* stored = tensor.source->stored.tensor;
    verify(*tensor.source);
    if (stored == nullptr) {
      const std::vector<std::byte> zeros(planned_bytes(tensor));
      put(zeros);
    } else if (stored->dtype == tensor.target.dtype) {
      copy(stored->bytes);
    } else {
      convert(tensor);
    }
    writer_.end_tensor();
    if (stored != nullptr) forget_pages(stored->bytes);
  }

  void copy(std::span<const std::byte> bytes) {
    constexpr std::size_t piece_bytes = piece_elements * sizeof(float);
    for (std::size_t at = 0; at < bytes.size(); at += piece_bytes) {
      put(bytes.subspan(at, std::min(piece_bytes, bytes.size() - at)));
    }
  }

  void convert(const PlannedTensor& tensor) {
    const std::uint64_t count = planned_bytes(tensor) / file_dtype_bytes(tensor.target.dtype);
    for (std::uint64_t at = 0; at < count; at += piece_elements) {
      values_.resize(std::min<std::uint64_t>(piece_elements, count - at));
      read_values(tensor.source->stored, at, values_);
      if (tensor.target.dtype == FileDType::f32) {
        put(std::as_bytes(std::span(values_)));
      } else {
        rounded_.resize(values_.size());
        std::transform(values_.begin(), values_.end(), rounded_.begin(), to_bf16);
        put(std::as_bytes(std::span(rounded_)));
      }
    }
  }

  void put(std::span<const std::byte> bytes) {
    writer_.write(bytes);
    done_ += bytes.size();
    if (progress_) progress_(done_);
  }

  const PlannedFile& file_;
  SafetensorsWriter writer_;
  const ConvertProgress& progress_;
  std::uint64_t& done_;
  std::vector<float> values_;
  std::vector<bf16> rounded_;
};

std::string index_text(const Conversion& conversion) {
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  for (const PlannedFile& file : conversion.files) {
    for (const PlannedTensor& tensor : file.tensors) map[tensor.target.name] = file.name;
  }
  const nlohmann::ordered_json index = {{"metadata", {{"total_size", conversion.bytes}}}, {"weight_map", map}};
  return index.dump(2) + "\n";
}

void write_all(const Conversion& conversion, const fs::path& directory, const ConvertProgress& progress) {
  std::uint64_t done = 0;
  for (const PlannedFile& file : conversion.files) FileWriter(file, directory, conversion.to, progress, done).write();
  if (conversion.files.size() > 1) write_file_atomically(directory / index_file, index_text(conversion));
  write_file_atomically(directory / conversion.config_name, conversion.config_text);
  for (const fs::path& path : conversion.side_files) {
    write_file_atomically(directory / path.filename(), read_file(path));
  }
  if (!conversion.source_config.empty()) {
    write_file_atomically(directory / kept_config, read_file(conversion.source_config));
  }
}

}  // namespace

Conversion plan_conversion(const ModelSource& source, const ConvertOptions& options) {
  Conversion plan;
  plan.to = source.layout() == ModelLayout::octet ? ModelLayout::hugging_face : ModelLayout::octet;
  std::vector<PlannedTensor> tensors = plan_tensors(source, plan.to, options.dtype);
  for (const PlannedTensor& tensor : tensors) {
    plan.bytes += planned_bytes(tensor);
    plan.elements += planned_bytes(tensor) / file_dtype_bytes(tensor.target.dtype);
  }
  if (plan.to == ModelLayout::octet) {
    plan.config_name = "config.toml";
    plan.config_text = show_config(source.config().config, source.config().origins);
    plan.source_config = source.directory() / "config.json";
    plan.files = cut_into_files(std::move(tensors), UINT64_MAX);
  } else {
    plan.config_name = "config.json";
    plan.config_text = published_config(source, options, tensors);
    plan.files = cut_into_files(std::move(tensors), options.shard_bytes);
  }
  const fs::path side = options.like.value_or(source.directory());
  for (const char* name : side_file_names) {
    if (holds(side / name)) plan.side_files.push_back(side / name);
  }
  return plan;
}

void write_conversion(const Conversion& conversion, const fs::path& target, const ConvertProgress& progress) {
  fs::path whole = target.has_filename() ? target : target.parent_path();  // "out/" is out
  check_free(whole);
  fs::path partial = whole;
  partial += ".partial";
  std::error_code none;
  if (fs::exists(fs::symlink_status(partial, none))) {
    throw UserError("{} is there, of a conversion that was interrupted or is under way: remove it",
                    printable(partial.string()));
  }
  make_directory(partial);
  try {
    write_all(conversion, partial, progress);
    fs::rename(partial, whole);
    sync_directory(whole.has_parent_path() ? whole.parent_path() : fs::path("."));
  } catch (const fs::filesystem_error& error) {
    fs::remove_all(partial, none);
    throw UserError("cannot write {}: {}", printable(whole.string()), error.code().message());
  } catch (...) {
    fs::remove_all(partial, none);
    throw;
  }
}

void export_model(const fs::path& from, const fs::path& target, const ConvertOptions& options,
                  const ConvertProgress& progress) {
  const ModelSource source = ModelSource::open(from);
  if (source.layout() != ModelLayout::octet) {
    throw UserError("{} is a model of Hugging Face's already: name a run or a checkpoint", printable(from.string()));
  }
  write_conversion(plan_conversion(source, options), target, progress);
}

}  // namespace octet
