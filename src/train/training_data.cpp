#include "train/training_data.h"

#include <utility>

#include "core/error.h"
#include "data/mix_rules.h"
#include "data/shard_set.h"

namespace octet {
namespace {

std::vector<Shard> shards_of(const std::vector<std::string>& names, DataSplit split, const Config& config) {
  return open_shards(names, split, static_cast<std::uint64_t>(config.model.vocab_size),
                     split == DataSplit::train ? "data.train" : "data.validation");
}

bool needs_documents(const Config& config) {
  return config.data.boundaries == Config::Boundaries::attention;
}

}  // namespace

Mix open_training_data(const Config& config) {
  constexpr std::uint64_t kSeedStep = 0x9E3779B97F4A7C15U;  // so that sources of one size have orders of their own
  auto seed = static_cast<std::uint64_t>(config.data.seed);
  std::vector<Mix::Source> sources;
  for (const MixSource& source : assign_sources(config.data.train, config.data.mix)) {
    sources.push_back(
        {source.rule, source.share,
         Loader(shards_of(source.paths, DataSplit::train, config), static_cast<std::uint64_t>(config.training.seq_len),
                seed, config.data.shuffle ? DataOrder::shuffled : DataOrder::as_stored)});
    seed += kSeedStep;
  }
  Mix mix(std::move(sources));
  if (needs_documents(config)) mix.require_documents();
  return mix;
}

std::optional<ValidationLoader> open_validation_data(const Config& config) {
  if (config.data.validation.empty()) return std::nullopt;
  const auto batch = static_cast<std::uint64_t>(config.training.batch_size);
  ValidationLoader loader(shards_of(config.data.validation, DataSplit::validation, config),
                          static_cast<std::uint64_t>(config.training.seq_len),
                          static_cast<std::uint64_t>(config.validation.batches) * batch);
  const std::uint64_t used = loader.windows() / batch * batch;
  if (used == 0) {
    throw UserError(
        "data.validation holds {} sequences of {} tokens, fewer than one batch of {}: use more text or a "
        "smaller training.batch_size",
        loader.windows(), config.training.seq_len, config.training.batch_size);
  }
  if (!loader.has_targets(used)) {
    throw UserError("data.validation has no target that counts in its first {} sequences: use other text, or none",
                    used);
  }
  if (needs_documents(config)) loader.require_documents();
  return loader;
}

}  // namespace octet
