// Models as Hugging Face keeps them. Names from files are held against a strict idea of a file in this directory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "convert/hugging_face_config.h"
#include "convert/model_openers.h"
#include "core/error.h"
#include "io/text.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uintmax_t max_json_bytes = 256U << 20U;  // the index of a model of 671B parameters has 9 MB
constexpr std::string_view scale_suffix = "_scale_inv";
constexpr std::string_view head = "lm_head.weight";
constexpr std::string_view embedding = "model.embed_tokens.weight";

std::string read_json(const fs::path& path) {
  std::error_code none;
  if (const std::uintmax_t bytes = fs::file_size(path, none); !none && bytes > max_json_bytes) {
    throw UserError("{} has {} bytes, more than any model needs (limit {})", printable(path.string()), bytes,
                    max_json_bytes);
  }
  return read_file(path);
}

/// A link may lead anywhere, so that a file which names it would name a place outside the directory.
fs::path inside(const fs::path& directory, const std::string& name) {
  const fs::path path = directory / name;
  std::error_code none;
  if (fs::is_symlink(path, none)) {
    throw UserError(
        "{} is a symbolic link, which octet convert does not follow: put the file itself there (hf download "
        "--local-dir does)",
        printable(path.string()));
  }
  return path;
}

/// Which file holds each tensor, by the index.
using WeightMap = std::unordered_map<std::string, std::string>;

bool is_plain_name(std::string_view name) {
  return name.ends_with(".safetensors") && !name.starts_with('.') && name.size() < 256 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                  c == '-';
         });
}

WeightMap read_index(const fs::path& path) {
  const std::string file = printable(path.string());
  const json root = json::parse(read_json(path), nullptr, false);
  const auto map = root.is_object() ? root.find("weight_map") : root.end();
  if (!root.is_object() || map == root.end() || !map->is_object() || map->empty()) {
    throw UserError("{} has no weight_map with a file for each tensor; fetch it again", file);
  }
  WeightMap weights;
  for (const auto& [tensor, shard] : map->items()) {
    const bool plain = shard.is_string() && is_plain_name(shard.get_ref<const std::string&>());
    if (!plain) {
      throw UserError("{}: tensor \"{}\" lies in {}, which is no name of a safetensors file in this directory", file,
                      printable(tensor), printable(shard.dump(-1, ' ', false, json::error_handler_t::replace), 80));
    }
    weights.emplace(tensor, shard.get<std::string>());
  }
  return weights;
}

struct Located {
  const SafetensorsFile* file;
  const FileTensor* tensor;
};

/// Layer N of "model.layers.N.", or -1.
std::int64_t layer_of(std::string_view name) {
  constexpr std::string_view prefix = "model.layers.";
  std::int64_t layer = -1;
  if (name.starts_with(prefix)) std::from_chars(name.data() + prefix.size(), name.data() + name.size(), layer);
  return layer;
}

/// The tensors of all files, and which of them the model has taken.
class Stock {
 public:
  Stock(const fs::path& directory, std::deque<SafetensorsFile>& files) : directory_(directory), files_(files) {
    std::error_code none;
    const bool indexed = fs::exists(directory / index_file, none);
    if (indexed && fs::exists(directory / weights_file, none)) {
      throw UserError("{} holds {} as well as {}: remove the one that is not the model's",
                      printable(directory.string()), weights_file, index_file);
    }
    indexed ? open_shards() : add(weights_file, nullptr);
    refuse_differences(directory_, differences_);
  }

  [[nodiscard]] const Located* find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  /// The same, taken.
  [[nodiscard]] const Located* take(const std::string& name) {
    const Located* found = find(name);
    if (found != nullptr) taken_.insert(name);
    return found;
  }
  /// In the files' order.
  [[nodiscard]] std::vector<std::string> rest() const {
    std::vector<std::string> names;
    for (const SafetensorsFile& file : files_) {
      for (const FileTensor& tensor : file.tensors()) {
        if (!taken_.contains(tensor.name)) names.push_back(tensor.name);
      }
    }
    return names;
  }

 private:
  void open_shards() {
    const WeightMap weights = read_index(inside(directory_, index_file));
    std::set<std::string> shards;
    for (const auto& [tensor, shard] : weights) shards.insert(shard);
    for (const std::string& shard : shards) add(shard, &weights);
    for (const auto& [tensor, shard] : weights) {
      if (find(tensor) == nullptr) {
        differences_.push_back(fmt::format("{} is not in {}, where the index has it", printable(tensor), shard));
      }
    }
  }

  void add(const std::string& name, const WeightMap* weights) {
    const SafetensorsFile& file = files_.emplace_back(SafetensorsFile::open(inside(directory_, name)));
    for (const FileTensor& tensor : file.tensors()) {
      if (!tensors_.emplace(tensor.name, Located{&file, &tensor}).second) {
        differences_.push_back(fmt::format("{} is in more than one file, {} among them", printable(tensor.name), name));
      } else if (weights != nullptr) {
        const auto entry = weights->find(tensor.name);
        if (entry == weights->end() || entry->second != name) {
          differences_.push_back(
              fmt::format("{} is in {}, where the index does not have it", printable(tensor.name), name));
        }
      }
    }
  }

  const fs::path& directory_;
  std::deque<SafetensorsFile>& files_;
  std::unordered_map<std::string, Located> tensors_;
  std::unordered_set<std::string> taken_;
  std::vector<std::string> differences_;
};

/// Takes a tensor of the model and, with FP8 codes, their inverse scales.
SourceTensor take_tensor(Stock& stock, TensorNames names, bool fp8_blocks, std::vector<std::string>& differences) {
  const Located* found = stock.take(names.hugging_face);
  if (found == nullptr) {
    differences.push_back(fmt::format("{} is missing", names.hugging_face));
    return {std::move(names), nullptr, {}};
  }
  const FileTensor& tensor = *found->tensor;
  SourceTensor source{std::move(names), found->file, {&tensor, nullptr}};
  const TensorNames& wanted = source.names;
  if (tensor.shape != wanted.shape) {
    differences.push_back(fmt::format("{} is {}, config.json makes it [{}]", wanted.hugging_face, describe(tensor),
                                      fmt::join(wanted.shape, ", ")));
  } else if (tensor.dtype == FileDType::f8_e4m3 && fp8_blocks && tensor.shape.size() == 2) {
    const std::string name = wanted.hugging_face + std::string(scale_suffix);
    const Located* scales = stock.take(name);
    const std::vector<std::uint64_t> blocks = {(tensor.shape[0] + fp8_block - 1) / fp8_block,
                                               (tensor.shape[1] + fp8_block - 1) / fp8_block};
    if (scales == nullptr) {
      differences.push_back(fmt::format("{} is missing", name));
    } else if (scales->tensor->dtype != FileDType::f32 || scales->tensor->shape != blocks) {
      differences.push_back(
          fmt::format("{} is {}, its weight needs F32 [{}]", name, describe(*scales->tensor), fmt::join(blocks, ", ")));
    } else if (scales->file->matches_checksum(*scales->tensor) == false) {
      differences.push_back(fmt::format("{} does not match its checksum", name));
    } else {
      source.stored.inverse_scales = scales->tensor;
    }
  } else if (tensor.dtype != FileDType::f32 && tensor.dtype != FileDType::bf16 && tensor.dtype != FileDType::f16) {
    differences.push_back(
        fmt::format("{} is {}, not F32, BF16 or F16{}", wanted.hugging_face, describe(tensor),
                    tensor.dtype == FileDType::f8_e4m3 ? " (F8_E4M3 needs quantization_config)" : ""));
  }
  return source;
}

/// A head that is written beside the embedding to which it is tied.
bool is_copy_of_embedding(const Stock& stock, std::string_view name) {
  if (name != head) return false;
  const FileTensor& copy = *stock.find(std::string(head))->tensor;
  const Located* original = stock.find(std::string(embedding));
  return original != nullptr && copy.dtype == original->tensor->dtype && copy.shape == original->tensor->shape &&
         std::ranges::equal(copy.bytes, original->tensor->bytes);
}

}  // namespace

ModelSource HuggingFaceOpener::open(const fs::path& directory) {
  ModelSource source;
  source.layout_ = ModelLayout::hugging_face;
  source.directory_ = directory;
  const fs::path config_path = inside(directory, "config.json");
  HuggingFaceConfig config = parse_hugging_face_config(read_json(config_path), config_path);
  source.config_ = std::move(config.loaded);
  const Config::Model& model = source.config_.config.model;
  Stock stock(directory, source.files_);
  std::vector<std::string> differences;
  for (TensorNames& names : tensor_names(model)) {
    source.tensors_.push_back(take_tensor(stock, std::move(names), config.fp8_blocks, differences));
  }
  for (std::string& name : stock.rest()) {
    const std::int64_t layer = layer_of(name);
    const bool of_prediction = layer >= model.n_layers && layer < model.n_layers + config.prediction_layers;
    const bool computed = name.ends_with(".rotary_emb.inv_freq");  // old files keep it, and nobody reads it
    if (of_prediction || computed || (model.tied_embeddings && is_copy_of_embedding(stock, name))) {
      source.left_out_.push_back(std::move(name));
    } else {
      differences.push_back(fmt::format("{} is none of the model's", printable(name)));
    }
  }
  refuse_differences(directory, differences);
  return source;
}

}  // namespace octet
