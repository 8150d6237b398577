#include "train/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/config_text.h"
#include "io/safetensors.h"
#include "ops/host_access.h"
#include "train/named_tensors.h"

namespace octet {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kVersion = 1;
constexpr std::string_view kPartial = ".partial";

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

void write_tensors(const fs::path& path, ops::Device& device, const std::vector<NamedTensor>& tensors) {
  std::vector<ops::HostBytes> bytes;
  std::vector<FileTensor> written;
  for (const NamedTensor& tensor : tensors) {
    bytes.emplace_back(device, tensor.tensor);
    written.push_back(file_tensor(tensor, bytes.back().bytes()));
  }
  write_safetensors(path, written, {{"format", "octet"}});
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
  return {
      {"version", kVersion},
      {"step", state.step},
      {"loader", {{"epoch", state.loader.epoch}, {"next", state.loader.next}}},
      {"model", all.at("model")},
      {"order", {{"seed", config.data.seed}, {"seq_len", config.training.seq_len}, {"shuffle", config.data.shuffle}}}};
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
  json state;
  try {
    state = json::parse(read_file(path));
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

/// A directory is first renamed so that it never looks like a whole checkpoint, then removed.
void discard(const fs::path& checkpoint) {
  fs::path doomed = checkpoint;
  doomed += kPartial;
  fs::remove_all(doomed);
  fs::rename(checkpoint, doomed);
  fs::remove_all(doomed);
}

void remove_leftovers(const fs::path& directory) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == kPartial) fs::remove_all(entry.path());
  }
}

void remove_old(const fs::path& directory, std::int64_t keep) {
  const auto checkpoints = list_checkpoints(directory);
  const auto count = static_cast<std::int64_t>(checkpoints.size());
  for (std::int64_t i = 0; i < count - std::max<std::int64_t>(keep, 1); ++i) {
    discard(checkpoints[static_cast<std::size_t>(i)]);
  }
}

/// What model.safetensors holds.
std::vector<NamedTensor> values_of(const Parameters& parameters) {
  auto values = named_tensors(parameters, "", &Slab::values);
  for (const TrainedState& state : parameters.states()) values.push_back({state.name, state.values.tensor()});
  return values;
}

std::vector<NamedTensor> moments_of(const Parameters& parameters) {
  auto moments = named_tensors(parameters, "m.", &Slab::first_moment);
  const auto second = named_tensors(parameters, "v.", &Slab::second_moment);
  moments.insert(moments.end(), second.begin(), second.end());
  return moments;
}

}  // namespace

std::vector<fs::path> list_checkpoints(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.starts_with("step-") && !name.ends_with(kPartial)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());  // steps are zero-padded
  return found;
}

void save_checkpoint(const fs::path& directory, ops::Device& device, const Parameters& parameters, const Config& config,
                     const TrainState& state, std::int64_t keep) {
  const fs::path target = directory / fmt::format("step-{:08}", state.step);
  fs::path partial = target;
  partial += kPartial;
  const auto give_up = [&](const std::string& reason) {
    std::error_code ignored;  // the reason for giving up is what the user must hear
    fs::remove_all(partial, ignored);
    throw UserError("{}; older checkpoints are untouched", reason);
  };
  try {
    make_directory(directory);
    remove_leftovers(directory);
    make_directory(partial);
    write_tensors(partial / "model.safetensors", device, values_of(parameters));
    write_tensors(partial / "optimizer.safetensors", device, moments_of(parameters));
    json description = describe(config, state);
    description["checksum"] = checksum_text(description);
    write_file_atomically(partial / "state.json", description.dump(2) + "\n");
    if (fs::exists(target)) {  // the same step, written before an interruption
      fs::path replaced = target;
      replaced += ".replaced";
      replaced += kPartial;
      fs::rename(target, replaced);
    }
    fs::rename(partial, target);
    sync_directory(directory);
    remove_leftovers(directory);
    remove_old(directory, keep);
  } catch (const UserError& error) {
    give_up(error.what());
  } catch (const fs::filesystem_error& error) {
    give_up(fmt::format("cannot write the checkpoint {}: {}", target.string(), error.code().message()));
  }
}

TrainState load_checkpoint(const fs::path& checkpoint, ops::Device& device, const Parameters& parameters,
                           const Config& config, LoadOptimizer optimizer) {
  const json state = read_state(checkpoint / "state.json");
  TrainState result;
  try {
    const json wanted = describe(config, {});
    if (state.at("model") != wanted.at("model")) {
      throw UserError("{} is a checkpoint of another model: {}", checkpoint.string(),
                      differences_between(state.at("model"), wanted.at("model")));
    }
    if (optimizer == LoadOptimizer::yes && state.at("order") != wanted.at("order")) {
      throw UserError("{} was trained on another order of the data: {}", checkpoint.string(),
                      differences_between(state.at("order"), wanted.at("order")));
    }
    result.step = state.at("step").get<std::int64_t>();
    result.loader = {state.at("loader").at("epoch").get<std::uint64_t>(),
                     state.at("loader").at("next").get<std::uint64_t>()};
  } catch (const json::exception& error) {
    throw UserError("{} is damaged: {}", (checkpoint / "state.json").string(), error.what());
  }
  read_tensors(checkpoint / "model.safetensors", device, values_of(parameters));
  if (optimizer == LoadOptimizer::yes) {
    read_tensors(checkpoint / "optimizer.safetensors", device, moments_of(parameters));
  }
  return result;
}

void load_values(const fs::path& file, ops::Device& device, const Parameters& parameters) {
  read_tensors(file, device, values_of(parameters));
}

}  // namespace octet
