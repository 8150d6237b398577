#include "train/capacity.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "io/config_fields.h"

namespace octet {
namespace {

const ConfigField& field_of(std::string_view key) {
  const ConfigField* field = find_config_field(key);
  check(field != nullptr, "remedies name keys of the configuration");
  return *field;
}

/// The largest count in [1, most] that `fits`, 0 where 1 does not. What fits, fits with less.
std::int64_t largest_that_fits(std::int64_t most, const std::function<bool(std::int64_t)>& fits) {
  std::int64_t good = 0;
  std::int64_t bad = 1;  // doubled until it does not fit, so that no plan is much larger than the answer
  while (bad <= most && fits(bad)) {
    good = bad;
    bad *= 2;
  }
  bad = std::min(bad, most + 1);
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace

std::size_t CapacityPlanner::planned_bytes(const Config& config) {
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const auto& plan) { return plan.first == config; });
  if (known != known_.end()) return known->second;
  return known_.emplace_back(config, plan_without_workspace(config, run_).plan().arena_bytes).second;
}

Config CapacityPlanner::with(const std::vector<Remedy>& remedies, const BatchShape& shape) const {
  Config config = config_;
  for (const Remedy& remedy : remedies) field_of(remedy.key).set(config, std::string(remedy.value));
  config.training.batch_size = shape.batch;
  config.training.seq_len = shape.seq_len;
  return config;
}

/// Those that the configuration does not have and may have. Of a key whose value is on the list, only what goes
/// further.
std::vector<Remedy> CapacityPlanner::useful_remedies() const {
  std::vector<Remedy> remedies;
  for (const Remedy& remedy : kRemedies) {
    if (field_of(remedy.key).get(config_) == ConfigValue(std::string(remedy.value))) {
      std::erase_if(remedies, [&](const Remedy& other) { return other.key == remedy.key; });
    } else {
      remedies.push_back(remedy);
    }
  }
  if (config_.training.accumulate > 1) {  // sums over micro-batches are fp32
    std::erase_if(remedies, [](const Remedy& remedy) { return remedy.key == "optimizer.gradients"; });
  }
  return remedies;
}

std::optional<BatchShape> CapacityPlanner::largest_shape(const std::vector<Remedy>& remedies, std::size_t usable) {
  const auto fits = [&](const BatchShape& shape) { return planned_bytes(with(remedies, shape)) <= usable; };
  const std::int64_t seq_len = config_.training.seq_len;
  const auto most = static_cast<std::int64_t>(field_of("training.batch_size").range.max);
  const std::int64_t batch = largest_that_fits(most, [&](std::int64_t count) { return fits({count, seq_len}); });
  if (batch > 0) return BatchShape{batch, seq_len};
  const std::int64_t steps = largest_that_fits((seq_len - 1) / kSeqLenStep, [&](std::int64_t count) {
    return fits({1, count * kSeqLenStep});
  });
  if (steps > 0) return BatchShape{1, steps * kSeqLenStep};
  return std::nullopt;
}

/// Remedies are a binary number whose highest digit is the most drastic one: the least drastic combination is the
/// smallest number that fits. As each remedy takes memory away, its digits can be found one by one, from the highest.
std::optional<FittingPlan> CapacityPlanner::find_remedy(std::size_t usable) {
  std::vector<Remedy> remedies = useful_remedies();
  BatchShape shape{config_.training.batch_size, config_.training.seq_len};
  if (planned_bytes(with(remedies, shape)) > usable) {
    const BatchShape floor{1, std::min(shape.seq_len, kFloorSeqLen)};
    if (planned_bytes(with(remedies, floor)) > usable) return std::nullopt;
    shape = largest_shape(remedies, usable).value_or(floor);
  }
  for (std::size_t i = remedies.size(); i-- > 0;) {
    std::vector<Remedy> fewer = remedies;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (planned_bytes(with(fewer, shape)) <= usable) remedies = std::move(fewer);
  }
  const std::size_t bytes = planned_bytes(with(remedies, shape));
  return FittingPlan{std::move(remedies), shape, bytes};
}

Capacity CapacityPlanner::of(const Card& card) {
  Capacity capacity{card, card.bytes - kCardReserve, planned_bytes(config_), std::nullopt, std::nullopt};
  if (!capacity.fits()) capacity.remedy = find_remedy(capacity.usable);
  capacity.largest = largest_shape({}, capacity.usable);
  return capacity;
}

}  // namespace octet
