#include "train/initial_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "core/error.h"
#include "io/config_text.h"
#include "io/text.h"
#include "ops/host_access.h"
#include "train/named_tensors.h"

namespace octet {
namespace {

constexpr std::size_t piece_elements = 1 << 20;
constexpr std::size_t named_differences = 3;

/// Keys of [model] that say how to train, not what is computed.
constexpr std::array training_keys = {"model.init_std", "model.moe.bias_rate", "model.moe.balance_weight",
                                      "model.mtp.weight"};

[[noreturn]] void refuse(const std::filesystem::path& directory, std::vector<std::string> differences) {
  differences.resize(std::min(differences.size(), named_differences));
  throw UserError(
      "{} is another model than the configuration's: {}; octet convert --config-only writes the one that "
      "fits",
      printable(directory.string()), fmt::join(differences, "; "));
}

void check_model(const std::filesystem::path& directory, const Config::Model& stored, const Config::Model& wanted) {
  Config left;
  left.model = stored;
  Config right;
  right.model = wanted;
  std::vector<std::string> differences;
  for (const ConfigDifference& difference : diff_config(left, right)) {
    if (std::ranges::find(training_keys, difference.key) != training_keys.end()) continue;
    differences.push_back(fmt::format("{} is {} there and {} here", difference.key, difference.left, difference.right));
  }
  if (!differences.empty()) refuse(directory, std::move(differences));
}

/// What a checkpoint holds of the model itself.
std::vector<NamedTensor> trained_values(const Parameters& parameters) {
  std::vector<NamedTensor> values = named_tensors(parameters, "", &Slab::values);
  for (const TrainedState& state : parameters.states()) values.push_back({state.name, state.values.tensor()});
  return values;
}

std::map<std::string_view, const SourceTensor*> by_name(const ModelSource& source) {
  std::map<std::string_view, const SourceTensor*> tensors;
  for (const SourceTensor& tensor : source.tensors()) {
    if (tensor.stored.tensor != nullptr) tensors.emplace(tensor.names.octet, &tensor);
  }
  return tensors;
}

void check_tensors(const ModelSource& source, const Parameters& parameters) {
  auto stored = by_name(source);
  std::vector<std::string> differences;
  for (const NamedTensor& named : trained_values(parameters)) {
    const auto found = stored.find(named.name);
    if (found == stored.end()) {
      differences.push_back(fmt::format("{} is missing", named.name));
      continue;
    }
    const FileTensor wanted = file_tensor(named, {});
    if (found->second->names.shape != wanted.shape) {
      differences.push_back(fmt::format("{} is [{}] there and [{}] here", named.name,
                                        fmt::join(found->second->names.shape, ", "), fmt::join(wanted.shape, ", ")));
    }
    stored.erase(found);
  }
  for (const auto& [name, tensor] : stored) differences.push_back(fmt::format("{} is none of the model's", name));
  if (!differences.empty()) refuse(source.directory(), std::move(differences));
}

template <typename To, typename Convert>
void fill_tensor(ops::Device& device, const SourceTensor& from, const Tensor& tensor, Convert convert) {
  const ops::HostElements<To> to(device, tensor);
  const std::span<To> elements = to.elements();
  std::vector<float> values;
  for (std::size_t at = 0; at < elements.size(); at += piece_elements) {
    values.resize(std::min(piece_elements, elements.size() - at));
    read_values(from.stored, at, values);
    std::transform(values.begin(), values.end(), elements.begin() + static_cast<std::ptrdiff_t>(at), convert);
  }
}

}  // namespace

InitialWeights::InitialWeights(const std::filesystem::path& directory, const Parameters& parameters,
                               const Config& config)
    : source_(ModelSource::open(directory)) {
  check_model(directory, source_.config().config.model, config.model);
  check_tensors(source_, parameters);
}

void InitialWeights::fill(ops::Device& device, const Parameters& parameters) const {
  const auto stored = by_name(source_);
  for (const NamedTensor& named : trained_values(parameters)) {
    const SourceTensor& from = *stored.at(named.name);
    verify(from);
    if (named.tensor.dtype() == DType::f32) {
      fill_tensor<float>(device, from, named.tensor, [](float value) { return value; });
    } else {
      fill_tensor<bf16>(device, from, named.tensor, to_bf16);
    }
    forget_pages(from.stored.tensor->bytes);
  }
}

}  // namespace octet
