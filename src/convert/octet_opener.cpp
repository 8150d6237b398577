// Models as Octet writes them: model directories of octet convert, and checkpoints of octet train.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "convert/model_openers.h"
#include "core/error.h"
#include "io/config_fields.h"
#include "io/text.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int known_version = 1;

ConfigValue value_of(const ConfigField& field, const json& value) {
  return std::visit([&](const auto& sample) { return ConfigValue(value.get<std::remove_cvref_t<decltype(sample)>>()); },
                    field.get(Config{}));
}

/// Sets every key of `object`, whose keys begin with `prefix`.
void set_keys(Config& config, const json& object, const std::string& prefix, const std::string& file) {
  for (const auto& [name, value] : object.items()) {
    const std::string key = prefix + name;
    if (value.is_object()) {
      set_keys(config, value, key + ".", file);
      continue;
    }
    const ConfigField* field = find_config_field(key);
    if (field == nullptr) throw UserError("{}: this octet has no key {}", file, printable(key));
    const ConfigValue wanted = value_of(*field, value);
    if (const auto violation = config_violation(*field, wanted)) throw UserError("{}: {} {}", file, key, *violation);
    field->set(config, wanted);
  }
}

/// The model that a checkpoint says it is of.
LoadedConfig config_of_checkpoint(const fs::path& path) {
  const std::string file = printable(path.string());
  LoadedConfig loaded;
  try {
    json state = json::parse(read_file(path));
    const std::string expected = state.at("checksum").get<std::string>();
    state.erase("checksum");
    const std::string text = state.dump();
    if (fmt::format("{:016x}", checksum(std::as_bytes(std::span(text)))) != expected) {
      throw UserError("{} is damaged: its checksum does not match", file);
    }
    if (const json version = state.at("version"); version != known_version) {
      throw UserError("{} has version {}, this octet reads {}", file, version.dump(), known_version);
    }
    set_keys(loaded.config, state.at("model"), "model.", file);
    set_keys(loaded.config, {{"seq_len", state.at("order").at("seq_len")}}, "training.", file);
  } catch (const json::exception& error) {
    throw UserError("{} is damaged: {}", file, printable(error.what()));
  }
  for (const ConfigField& field : config_fields()) {
    if (has_field(loaded.config.model.family, field)) loaded.origins.emplace(field.key, file);
  }
  check_config(loaded.config, loaded.origins);
  return loaded;
}

bool is_weight(const FileTensor& tensor) {
  return tensor.dtype == FileDType::f32 || tensor.dtype == FileDType::bf16;
}

}  // namespace

ModelSource OctetOpener::open(const fs::path& directory) {
  ModelSource source;
  source.layout_ = ModelLayout::octet;
  source.directory_ = directory;
  std::error_code none;
  source.config_ = fs::exists(directory / "state.json", none) ? config_of_checkpoint(directory / "state.json")
                                                              : load_config(directory / "config.toml");
  const SafetensorsFile& file = source.files_.emplace_back(SafetensorsFile::open(directory / weights_file));
  const Config::Model& model = source.config_.config.model;
  std::vector<std::string> differences;
  std::unordered_set<std::string_view> known;
  for (TensorNames& names : tensor_names(model)) {
    const FileTensor* tensor = file.find(names.octet);
    const bool may_lack = names.router_bias && model.moe.bias_rate == 0;
    if (tensor == nullptr && !may_lack) {
      differences.push_back(fmt::format("{} is missing", names.octet));
    } else if (tensor != nullptr && (tensor->shape != names.shape || !is_weight(*tensor))) {
      differences.push_back(fmt::format("{} is {}, the model has [{}] in F32 or BF16", names.octet, describe(*tensor),
                                        fmt::join(names.shape, ", ")));
    }
    if (tensor != nullptr) known.insert(tensor->name);
    source.tensors_.push_back({std::move(names), &file, {tensor, nullptr}});
  }
  for (const FileTensor& tensor : file.tensors()) {
    if (known.contains(tensor.name)) continue;
    if (model.mtp.depth > 0 && tensor.name.starts_with("mtp.")) {
      source.left_out_.push_back(tensor.name);
    } else {
      differences.push_back(fmt::format("{} is none of the model's", printable(tensor.name)));
    }
  }
  refuse_differences(directory / weights_file, differences);
  return source;
}

}  // namespace octet
