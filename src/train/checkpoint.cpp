#include "train/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "io/config_text.h"
#include "io/run_files.h"
#include "ops/host_access.h"
#include "train/loader_record.h"

namespace octet {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kVersion = 1;
constexpr int kMaxDepth = 16;

template <typename From, typename To, typename Convert>
void convert_elements(const FileTensor& tensor, std::span<To> to, Convert convert) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    From value;  // files of others may not align it
    std::memcpy(&value, tensor.bytes.data() + i * sizeof value, sizeof value);
    to[i] = convert(value);
  }
}

/// Fills a parameter or moment from a tensor of its shape: the same values, or fp32 from bf16 exactly, or bf16 from
/// fp32 to nearest.
void read_tensor(ops::Device& device, const FileTensor& tensor, const NamedTensor& named) {
  const auto same = [](auto value) { return value; };
  const bool from_f32 = tensor.dtype == FileDType::f32;
  if (named.tensor.dtype() == DType::f32) {
    const ops::HostElements<float> to(device, named.tensor);
    from_f32 ? convert_elements<float>(tensor, to.elements(), same)
             : convert_elements<bf16>(tensor, to.elements(), [](bf16 value) { return to_float(value); });
  } else {
    const ops::HostElements<bf16> to(device, named.tensor);
    from_f32 ? convert_elements<float>(tensor, to.elements(), [](float value) { return to_bf16(value); })
             : convert_elements<bf16>(tensor, to.elements(), same);
  }
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Fills every tensor; complains about the first few that are missing or of another shape.
void read_tensors(const fs::path& path, ops::Device& device, const std::vector<NamedTensor>& tensors) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  if (!file.verify()) throw UserError("{} carries no checksums: it was not written by octet", path.string());
  std::vector<std::string> differences;
  for (const NamedTensor& named : tensors) {
    const FileTensor* tensor = file.find(named.name);
    const FileTensor wanted = file_tensor(named, {});
    if (tensor == nullptr) {
      differences.push_back(fmt::format("{} is missing", named.name));
    } else if (tensor->shape != wanted.shape || (tensor->dtype != FileDType::f32 && tensor->dtype != FileDType::bf16)) {
      differences.push_back(fmt::format("{} is {}{}, the model has {}{}", named.name, file_dtype_name(tensor->dtype),
                                        shape_text(tensor->shape), file_dtype_name(wanted.dtype),
                                        shape_text(wanted.shape)));
    } else {
      read_tensor(device, *tensor, named);
    }
  }
  if (differences.empty() && file.tensors().size() == tensors.size()) return;
  if (differences.empty()) differences.push_back("it has tensors that the model has not");
  differences.resize(std::min<std::size_t>(differences.size(), 3));
  throw UserError("{} is a checkpoint of another model: {}", path.string(), fmt::join(differences, "; "));
}

json describe(const Config& config, const TrainState& state) {
  const json all = config_json(config);
  json description = {
      {"version", kVersion},
      {"step", state.step},
      {"loader", describe_position(state.loader)},
      {"tokenizer", state.tokenizer},
      {"model", all.at("model")},
      {"order", {{"seed", config.data.seed}, {"seq_len", config.training.seq_len}, {"shuffle", config.data.shuffle}}}};
  if (state.val_loss) description["val_loss"] = io::number_or_null(*state.val_loss);
  return description;
}

/// The model of a checkpoint. Keys that there were not yet when it was saved have the values that stand for none.
json with_defaults(const json& saved, Config::Family family) {
  Config fallback;
  fallback.model.family = family;
  json model = config_json(fallback).at("model");
  model.merge_patch(saved);
  return model;
}

std::string checksum_text(const json& description) {
  const std::string text = description.dump();
  return fmt::format("{:016x}", checksum(std::as_bytes(std::span(text))));
}

/// The first keys in which two flat objects differ, "dim: 256 here, 512 there".
std::string differences_between(const json& checkpoint, const json& wanted) {
  std::vector<std::string> found;
  const json a = checkpoint.flatten();
  const json b = wanted.flatten();
  for (const auto& [key, value] : b.items()) {
    const json other = a.value(key, json());
    if (other == value) continue;
    std::string name = key.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    found.push_back(fmt::format("{} is {} in the checkpoint and {} here", name, other.dump(), value.dump()));
  }
  found.resize(std::min<std::size_t>(found.size(), 3));
  return fmt::format("{}", fmt::join(found, "; "));
}

json read_state(const fs::path& path) {
  const auto refuse_depth = [&](int depth, json::parse_event_t, const json&) {
    if (depth > kMaxDepth) throw UserError("{} is damaged: nested deeper than {} levels", path.string(), kMaxDepth);
    return true;
  };
  json state;
  try {
    state = json::parse(read_file(path), refuse_depth);
    const std::string expected = state.at("checksum").get<std::string>();
    state.erase("checksum");
    if (checksum_text(state) != expected) throw UserError("{} is damaged: its checksum does not match", path.string());
    if (state.at("version").get<int>() != kVersion) {
      throw UserError("{} has version {}, this octet reads {}", path.string(), state.at("version").dump(), kVersion);
    }
  } catch (const json::exception& error) {
    throw UserError("{} is damaged: {}", path.string(), error.what());
  }
  return state;
}

/// The loss after the step; a null, which stands for what JSON lacks, is NaN.
std::optional<double> validation_loss_of(const json& state) {
  const auto loss = state.find("val_loss");
  if (loss == state.end()) return std::nullopt;
  return loss->is_null() ? std::nan("") : loss->get<double>();
}

/// The bytes of `tensors` in host memory, where `copies` keeps them if the device has memory of its own.
std::vector<FileTensor> bring_to_host(ops::Device& device, const std::vector<NamedTensor>& tensors,
                                      std::vector<ops::HostBytes>& copies) {
  std::vector<FileTensor> on_host;
  for (const NamedTensor& tensor : tensors) {
    copies.emplace_back(device, tensor.tensor);
    on_host.push_back(file_tensor(tensor, copies.back().bytes()));
  }
  return on_host;
}

/// Gives the whole checkpoint its name, in the place of one of the same step that an interrupted run has left.
void publish(const fs::path& partial, const fs::path& target) {
  if (fs::exists(target)) {
    fs::path replaced = target;
    replaced += ".replaced";
    fs::rename(target, partial_of(replaced));
  }
  fs::rename(partial, target);
  sync_directory(target.parent_path());
}

}  // namespace

CheckpointState read_checkpoint_state(const fs::path& path) {
  const json state = read_state(path);
  try {
    const auto tokenizer = state.value("tokenizer", std::uint64_t{0});  // older checkpoints do not know it
    return {
        {state.at("step").get<std::int64_t>(), read_position(state.at("loader")), validation_loss_of(state), tokenizer},
        state.at("model"),
        state.at("order")};
  } catch (const json::exception& error) {
    throw UserError("{} is damaged: {}", path.string(), error.what());
  }
}

std::vector<NamedTensor> checkpointed_values(const Parameters& parameters) {
  auto values = named_tensors(parameters, "", &Slab::values);
  for (const TrainedState& state : parameters.states()) values.push_back({state.name, state.values.tensor()});
  return values;
}

std::vector<NamedTensor> checkpointed_moments(const Parameters& parameters) {
  auto moments = named_tensors(parameters, "m.", &Slab::first_moment);
  const auto second = named_tensors(parameters, "v.", &Slab::second_moment);
  moments.insert(moments.end(), second.begin(), second.end());
  return moments;
}

std::string checkpoint_state_text(const Config& config, const TrainState& state) {
  json description = describe(config, state);
  description["checksum"] = checksum_text(description);
  return description.dump(2) + "\n";
}

void write_checkpoint(const fs::path& directory, const CheckpointContent& content, const Config::Checkpoint& policy) {
  const fs::path target = directory / checkpoint_name(content.step);
  const fs::path partial = partial_of(target);
  const auto give_up = [&](const std::string& reason) {
    std::error_code ignored;  // the reason for giving up is what the user must hear
    fs::remove_all(partial, ignored);
    throw UserError("{}; older checkpoints are untouched", reason);
  };
  try {
    make_directory(directory);
    remove_partial_checkpoints(directory);
    make_directory(partial);
    write_safetensors(partial / kModelFile, content.model, {{"format", "octet"}});
    write_safetensors(partial / kOptimizerFile, content.optimizer, {{"format", "octet"}});
    write_file_atomically(partial / kStateFile, content.state);
    publish(partial, target);
    remove_partial_checkpoints(directory);
    apply_retention(directory, policy);
  } catch (const UserError& error) {
    give_up(error.what());
  } catch (const fs::filesystem_error& error) {
    give_up(fmt::format("cannot write the checkpoint {}: {}", target.string(), error.code().message()));
  }
}

void save_checkpoint(const fs::path& directory, ops::Device& device, const Parameters& parameters, const Config& config,
                     const TrainState& state) {
  std::vector<ops::HostBytes> copies;
  const CheckpointContent content = {state.step, checkpoint_state_text(config, state),
                                     bring_to_host(device, checkpointed_values(parameters), copies),
                                     bring_to_host(device, checkpointed_moments(parameters), copies)};
  write_checkpoint(directory, content, config.checkpoint);
}

TrainState load_checkpoint(const fs::path& checkpoint, ops::Device& device, const Parameters& parameters,
                           const Config& config, LoadOptimizer optimizer) {
  const CheckpointState state = read_checkpoint_state(checkpoint / kStateFile);
  const json wanted = describe(config, {});
  if (const json model = with_defaults(state.model, config.model.family); model != wanted.at("model")) {
    throw UserError("{} is a checkpoint of another model: {}", checkpoint.string(),
                    differences_between(model, wanted.at("model")));
  }
  if (optimizer == LoadOptimizer::yes && state.order != wanted.at("order")) {
    throw UserError("{} was trained on another order of the data: {}", checkpoint.string(),
                    differences_between(state.order, wanted.at("order")));
  }
  read_tensors(checkpoint / kModelFile, device, checkpointed_values(parameters));
  if (optimizer == LoadOptimizer::yes) {
    read_tensors(checkpoint / kOptimizerFile, device, checkpointed_moments(parameters));
  }
  return state.train;
}

void load_values(const fs::path& file, ops::Device& device, const Parameters& parameters) {
  read_tensors(file, device, checkpointed_values(parameters));
}

}  // namespace octet
