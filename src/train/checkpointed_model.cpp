#include "train/checkpointed_model.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "core/error.h"
#include "io/config.h"
#include "io/config_fields.h"
#include "io/text.h"
#include "train/checkpoint.h"
#include "train/model_setup.h"
#include "train/planning_backend.h"

namespace octet {
namespace {

using nlohmann::json;

/// The value as the field has it; nothing for one of another type.
std::optional<ConfigValue> value_of(const ConfigField& field, const json& value) {
  const auto read = [&](const auto& sample) -> std::optional<ConfigValue> {
    using T = std::remove_cvref_t<decltype(sample)>;
    if (std::is_same_v<T, std::int64_t> && !value.is_number_integer()) return std::nullopt;
    try {
      return ConfigValue(std::in_place_type<T>, value.get<T>());
    } catch (const json::type_error&) {
      return std::nullopt;
    }
  };
  return std::visit(read, field.get(Config{}));
}

bool is_section(const std::string& key) {
  return std::ranges::any_of(config_fields(), [&](const ConfigField& f) { return f.key.starts_with(key + "."); });
}

/// `key` of the configuration, or all keys below it.
void set_fields(Config& config, const std::string& key, const json& value, const std::string& file) {
  if (value.is_object() && is_section(key)) {
    for (const auto& [name, below] : value.items()) set_fields(config, fmt::format("{}.{}", key, name), below, file);
    return;
  }
  const ConfigField* field = find_config_field(key);
  if (field == nullptr) throw UserError("{}: this octet knows no {}", file, printable(key));
  const std::optional<ConfigValue> read = value_of(*field, value);
  if (!read) throw UserError("{}: {} is {}, not {}", file, key, printable(value.dump()), config_type(*field));
  if (const auto violation = config_violation(*field, *read)) throw UserError("{}: {} {}", file, key, *violation);
  field->set(config, *read);
}

/// A configuration of that model; whatever else it says is of no matter to what a checkpoint holds.
Config config_of(const json& model, const std::string& file) {
  Config config;
  set_fields(config, "model", model, file);
  config.training.steps = 1;
  config.training.seq_len = 1;
  config.training.batch_size = 1;
  config.precision.recipe = Config::Recipe::bf16;
  check_config(config, {});
  return config;
}

std::vector<FileTensor> as_files_hold(const std::vector<NamedTensor>& tensors) {
  std::vector<FileTensor> held;
  for (const NamedTensor& tensor : tensors) held.push_back(file_tensor(tensor, {}));
  return held;
}

}  // namespace

CheckpointedModel::CheckpointedModel(const json& model, const std::string& file)
    : backend_(make_planning_backend(PlannedMemory::host)) {
  const Config config = config_of(model, file);
  model_ = make_model(config, *backend_);
  model_->allocate(memory_, slab_storage(config, true));
}

std::vector<FileTensor> CheckpointedModel::values() const {
  return as_files_hold(checkpointed_values(model_->parameters()));
}

std::vector<FileTensor> CheckpointedModel::moments() const {
  return as_files_hold(checkpointed_moments(model_->parameters()));
}

}  // namespace octet
